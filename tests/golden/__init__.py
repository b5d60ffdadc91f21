"""Golden digests: evidence that a change of names or of structure does not change behaviour.

    python -m tests.golden                      compare everything with the stored digests; exit 1 if one differs
    python -m tests.golden --only en_span bpm   only groups or entries whose names begin like this
    python -m tests.golden --fast               only what the fast tests compare
    python -m tests.golden --write              write the digests (with --only: of these entries)
    python -m tests.golden --list               names of groups and entries

An entry is a digest of the output for a fixed input. There are three kinds:

- `same`: output that is the same on every machine: tags, brackets, statuses, heads, stored bytes of shipped models,
  trainings by counting and with integers. In digests.json, always compared.
- `bits`: floating-point numbers to the last bit, and trainings with such numbers. Networks' kernels are compiled with
  fastmath for the current processor, and numpy and its matrix products choose their code by the processor, too. So in
  digests.json they are under a key that names the processor, its vector instructions and the releases of numba and
  numpy (`store.kernel_target`). They are compared if there are digests for that key, else skipped; `--write` adds those
  of this machine and does not change those of others.
- `text`: text for people (explanations, `dtparse info`, drawings), which may be changed on purpose. In
  digests_text.json, always compared.

Left out or normalised: versions of software, paths, times, memory (`training_runs.plain_data`,
`text_entries.stable_info`), the order of lines of logs, the last bits of probabilities of trees (`project.rounded`),
effects of a deadline (it measures the machine), everything that needs torch. The version of the package is in the
metadata of models: another release writes other bytes.

Every entry is computed by a function of `running.GROUPS`. The names of the project that these functions use are in
`project` (except the public functions of `spacy_dtparse`), the commands of trainings in `training_runs`. The digests
were first written from commit 277a95c.
"""
