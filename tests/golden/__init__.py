"""Golden digests: proof that a change of names or of structure changes no behaviour.

    python -m tests.golden                      compare everything with the stored digests; exit 1 where one differs
    python -m tests.golden --only en_span bpm   only groups or entries whose names begin so
    python -m tests.golden --fast               only what the fast tests compare
    python -m tests.golden --write              write the digests (with --only: of these entries)
    python -m tests.golden --list               names of groups and entries

An entry is a digest of what the code made of given input. There are three kinds:

- `same`: what is the same on every machine: tags, brackets, statuses, heads, stored bytes of shipped models, trainings
  by counting and in whole numbers. In digests.json, always compared.
- `bits`: floating-point numbers to the last bit, and trainings with such numbers. Networks' kernels are compiled with
  fastmath for the processor at hand, and numpy and its matrix products choose their code by it, too. So in digests.json
  they stand under a key that names the processor, its vector instructions and the releases of numba and numpy
  (`store.kernel_target`). They are compared where there are digests for that key, and skipped elsewhere; `--write` adds
  those of this machine and keeps those of others.
- `text`: what people read (explanations, `dtparse info`, drawings), which may be changed on purpose. In
  digests_text.json, always compared.

Left out or normalised: versions of software, paths, times, memory (`training_runs.plain_facts`,
`text_entries.told_by_info`), the order of lines of logs, the last bits of probabilities of trees (`project.rounded`),
what a deadline does (it measures the machine), what needs torch. The package's own version is in models' facts: another
release writes other bytes.

Every entry is computed by a function of `running.GROUPS`; what these need of the project stands in `project` (beside
the public functions of `spacy_dtparse`), the commands of trainings in `training_runs`. The digests were first written
from commit 277a95c.
"""
