"""Experiments of the papers, table by table; no other subpackage imports this one."""
