# ruff: noqa: E501 (a table)
"""Which tests notice a change of which file; see `tests.mutants`."""

U = "unit/kernels"
TREES = f"{U}/trees/test_state.py {U}/trees/test_features.py {U}/trees/test_search.py"
SPAN = f"{U}/span/test_spans.py {U}/span/test_network.py {U}/span/test_attach.py {U}/span/test_batch.py"
PCFG = f"{U}/pcfg/test_cky.py {U}/pcfg/test_given_symbols.py unit/parsers/test_pcfg.py"
LATENT = f"{U}/pcfg/test_latent.py {U}/pcfg/test_decoders.py {U}/pcfg/test_kbest.py"
REASONS = "unit/model/trees/test_reasons.py unit/model/trees/test_explain.py"
LINKS = f"{U}/linear/test_key_numbers.py unit/features/linear/test_linkparts.py {U}/linear/test_links.py {U}/linear/test_link_labels.py"
CONSTRAINTS = f"{U}/trees/test_constraints.py unit/parsers/test_constraints.py"

TESTS = {
    "spacy_dtparse/features/linear/linkparts.py": f"{LINKS} unit/parsers/test_dependency.py",
    "spacy_dtparse/features/linear/tagparts.py": f"unit/features/linear/test_tagparts.py {U}/linear/test_tagging.py unit/model/linear/test_tagger.py",
    "spacy_dtparse/features/supertags.py": f"unit/parsers/test_pruned.py {U}/pcfg/test_spine_cells.py unit/parsers/test_pcfg_spines.py",
    "spacy_dtparse/features/pcfg/wordclasses.py": "training/pcfg/test_pcfg.py training/pcfg/test_latent.py",
    "spacy_dtparse/features/recurrent/tokenparts.py": "unit/features/recurrent/test_tokenparts.py unit/model/recurrent/test_model.py",
    "spacy_dtparse/features/span/wordparts.py": "unit/features/span/test_wordparts.py unit/model/span/test_model.py",
    "spacy_dtparse/features/trees/marginals.py": f"{U}/trees/test_marginals.py",
    "spacy_dtparse/features/trees/fact_clauses.py": REASONS,
    "spacy_dtparse/features/trees/lexicon.py": f"unit/features/trees/test_tables.py {TREES}",
    "spacy_dtparse/features/trees/names.py": f"{U}/trees/test_marginals.py {U}/trees/test_features.py unit/model/trees/test_bundle.py {REASONS}",
    "spacy_dtparse/features/trees/tables.py": f"unit/features/trees/test_tables.py {U}/trees/test_features.py {U}/trees/test_marginals.py",
    "spacy_dtparse/features/trees/templates.py": f"unit/features/trees/test_tables.py {U}/trees/test_features.py {U}/trees/test_marginals.py",
    "spacy_dtparse/features/trees/wording.py": REASONS,
    "spacy_dtparse/kernels/linear/feature_table.py": f"{U}/linear/test_feature_table.py {U}/linear/test_links.py",
    "spacy_dtparse/kernels/linear/link_labels.py": f"{U}/linear/test_link_labels.py {U}/linear/test_key_numbers.py",
    "spacy_dtparse/kernels/linear/links.py": f"{LINKS} unit/parsers/test_dependency.py",
    "spacy_dtparse/kernels/linear/spanning.py": f"{U}/linear/test_spanning.py",
    "spacy_dtparse/kernels/linear/tagging.py": f"{U}/linear/test_tagging.py unit/model/linear/test_tagger.py",
    "spacy_dtparse/kernels/pcfg/cky.py": PCFG,
    "spacy_dtparse/kernels/pcfg/latent.py": LATENT,
    "spacy_dtparse/kernels/pcfg/posterior.py": f"{PCFG} {LATENT}",
    "spacy_dtparse/kernels/pcfg/spine_cells.py": f"{U}/pcfg/test_spine_cells.py unit/parsers/test_pcfg_spines.py",
    "spacy_dtparse/kernels/recurrent/tagging.py": f"{U}/recurrent/test_tagging.py",
    "spacy_dtparse/kernels/recurrent/units.py": f"{U}/recurrent/test_units.py {U}/span/test_network.py",
    "spacy_dtparse/kernels/span/batch.py": f"{U}/span/test_batch.py unit/parsers/test_span.py",
    "spacy_dtparse/kernels/span/network.py": f"{SPAN} unit/parsers/test_span.py",
    "spacy_dtparse/kernels/span/spans.py": f"{SPAN} unit/parsers/test_span.py",
    "spacy_dtparse/kernels/span/attach.py": f"{SPAN}",
    "spacy_dtparse/kernels/trees/agenda.py": f"{U}/trees/test_agenda.py {TREES} unit/parsers/test_k_best.py",
    "spacy_dtparse/kernels/trees/atoms.py": TREES,
    "spacy_dtparse/kernels/trees/batch.py": f"{U}/trees/test_search.py {U}/trees/test_marginals.py unit/parsers/test_dtree.py {REASONS}",
    "spacy_dtparse/kernels/trees/marginals.py": f"{U}/trees/test_marginals.py",
    "spacy_dtparse/kernels/trees/constraints.py": CONSTRAINTS,
    "spacy_dtparse/kernels/trees/features.py": f"{TREES} {U}/trees/test_marginals.py",
    "spacy_dtparse/kernels/trees/window_filter.py": f"{U}/trees/test_window_filter.py",
    "spacy_dtparse/kernels/trees/heads.py": f"unit/trees/test_heads.py {U}/trees/test_state.py",
    "spacy_dtparse/kernels/trees/pruning.py": f"{U}/trees/test_marginals.py {U}/trees/test_search.py unit/parsers/test_pruned.py unit/parsers/test_dtree.py",
    "spacy_dtparse/kernels/trees/replay.py": f"{U}/trees/test_features.py {U}/trees/test_window_filter.py {U}/trees/test_marginals.py training/dtree/test_examples.py training/dtree/test_window_filter.py training/dtree/test_span_model.py",
    "spacy_dtparse/kernels/trees/rules.py": f"{U}/trees/test_rules.py {U}/trees/test_search.py",
    "spacy_dtparse/kernels/trees/score.py": f"{U}/trees/test_search.py {U}/trees/test_score_cache.py",
    "spacy_dtparse/kernels/trees/search.py": f"{U}/trees/test_search.py unit/parsers/test_pruned.py unit/parsers/test_k_best.py {U}/trees/test_marginals.py {U}/trees/test_window_filter.py {CONSTRAINTS}",
    "spacy_dtparse/kernels/trees/spines.py": f"{U}/trees/test_spines.py unit/parsers/test_pruned.py",
    "spacy_dtparse/kernels/trees/state.py": TREES,
    "spacy_dtparse/parsers/constraints.py": CONSTRAINTS,
    "spacy_dtparse/parsers/kbest.py": f"unit/parsers/test_k_best.py {U}/pcfg/test_kbest.py unit/parsers/test_dependency.py",
    "spacy_dtparse/parsers/pcfg/chart.py": f"{PCFG} {LATENT}",
    "spacy_dtparse/parsers/pcfg/decoders.py": LATENT,
    "spacy_dtparse/parsers/pcfg/kbest.py": f"{U}/pcfg/test_kbest.py unit/parsers/test_pcfg_lists.py",
    "spacy_dtparse/parsers/pcfg/latent.py": LATENT,
    "spacy_dtparse/parsers/span/kbest.py": "unit/parsers/test_k_best.py",
    "spacy_dtparse/parsers/span/long.py": "unit/parsers/test_span_long.py",
}
