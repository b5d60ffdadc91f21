"""The experiments of the papers, table by table; nothing imports them."""
