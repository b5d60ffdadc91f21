"""Compare the distributions in a folder with a clone, and add the models to the list of components.

    python .ci/check_release.py DIR CLONE

The wheel and the source distribution must contain all files of the package that git tracks, and no others. Every model
must have its licence in the same folder, and the metadata must name all licences. No package that is installed as a
dependency may have a licence that requires the source code of programs that use it (GPL, AGPL). If something is wrong,
the script prints it and exits with 1.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath
from typing import Any

MAX_BYTES = 12_000_000
"""Maximum size of a file."""
MAX_WHEEL_BYTES = 22_000_000
"""Maximum size of the wheel, which contains only the default pipeline."""
OTHER_FILES = {"CHANGELOG.md", "SECURITY.md", "README.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"}
"""Files of the source distribution that are not in the package."""
MODELS_LICENCE = "CC-BY-SA-4.0"


def tracked_files(clone: Path) -> set[str]:
    """The files of the package that git tracks."""
    listed = subprocess.run(["git", "ls-files", "spacy_dtparse"], cwd=clone, check=True, capture_output=True, text=True)
    return set(listed.stdout.split("\n")) - {""}


def check_wheel(path: Path, wanted: set[str]) -> list[str]:
    """List the problems of a wheel."""
    with zipfile.ZipFile(path) as wheel:
        files = {info.filename: info.file_size for info in wheel.infolist() if not info.is_dir()}
        package = {name for name in files if ".dist-info/" not in name}
        (metadata,) = [name for name in files if name.endswith(".dist-info/METADATA")]
        fields = message_from_bytes(wheel.read(metadata))
        problems = _differences(path, package, wanted)
        problems += [f"{path.name}: {name} has {n} bytes" for name, n in files.items() if n > MAX_BYTES]
        if path.stat().st_size > MAX_WHEEL_BYTES:
            problems.append(f"{path.name}: it has {path.stat().st_size} bytes; at most {MAX_WHEEL_BYTES} are allowed")
    if fields["License-Expression"] != f"MIT AND {MODELS_LICENCE}":
        problems.append(f"{path.name}: its licence is {fields['License-Expression']}")
    named = set(fields.get_all("License-File", []))
    folder = metadata.removesuffix("METADATA") + "licenses/"
    problems += [f"{path.name}: {name} is named, but missing" for name in named if folder + name not in files]
    for name in sorted(package):
        licence = str(PurePosixPath(*PurePosixPath(name).parts[:3]) / "LICENSE")
        if PurePosixPath(name).name == "model" and (licence not in package or licence not in named):
            problems.append(f"{path.name}: {name} has no licence in its folder, or the metadata do not name it")
    return problems


def check_source(path: Path, wanted: set[str]) -> list[str]:
    """List the problems of a source distribution."""
    with tarfile.open(path) as archive:
        files = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    return _differences(path, files - OTHER_FILES, wanted) + [
        f"{path.name}: {name} is missing" for name in OTHER_FILES - files
    ]


def _differences(path: Path, found: set[str], wanted: set[str]) -> list[str]:
    missing = [f"{path.name}: {name} is missing" for name in sorted(wanted - found)]
    return missing + [f"{path.name}: {name} does not belong there" for name in sorted(found - wanted)]


def with_models(bom: dict[str, Any], clone: Path, wanted: set[str]) -> dict[str, Any]:
    """Add the package's models to the list of components."""
    models = [name for name in sorted(wanted) if PurePosixPath(name).name == "model"]
    more = [
        {
            "type": "machine-learning-model",
            "bom-ref": name,
            "name": "/".join(PurePosixPath(name).parts[2:-1]),
            "licenses": [{"license": {"id": MODELS_LICENCE, "acknowledgement": "declared"}}],
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256((clone / name).read_bytes()).hexdigest()}],
        }
        for name in models
    ]
    return {**bom, "components": [*bom.get("components", []), *more]}


def check_licences(bom: dict[str, Any]) -> list[str]:
    """List the components without a licence, or with one that requires more than naming the authors."""
    problems = []
    for component in bom["components"]:
        named = []
        for entry in component.get("licenses", []):
            licence = entry.get("license", {})
            named.append(entry.get("expression") or licence.get("id") or licence.get("name") or "")
        text = ", ".join(filter(None, named))
        if not text:
            problems.append(f"{component['name']}: no licence is given")
        if "GPL" in text.replace("LGPL", "") or "GNU General" in text:
            problems.append(f"{component['name']}: {text}")
    return problems


def main() -> int:
    """Check the distributions, write the list of components, print the problems."""
    folder, clone = map(Path, sys.argv[1:])
    wanted = tracked_files(clone)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    path = folder / "sbom.cdx.json"
    bom = with_models(json.loads(path.read_text(encoding="utf8")), clone, wanted)
    path.write_text(json.dumps(bom, indent=2) + "\n", encoding="utf8")
    problems = check_wheel(wheel, wanted) + check_source(source, wanted) + check_licences(bom)
    for problem in problems:
        print(f"release: {problem}", file=sys.stderr)
    print(f"{len(wanted)} files in both distributions, {len(bom['components'])} components", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
