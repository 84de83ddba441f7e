#!/usr/bin/env python3
"""Makes the packages: packaging/package.py [deb|image|tarball]… [--binary FILE] [--out DIR]."""
import argparse
import pathlib
import time

import deb
import image
import tarball
from tree import ROOT, version_of_project


def size(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="which; absent: all of them")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "sluice")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "package")
    chosen = parser.parse_args()
    binary, out, version = chosen.binary.resolve(), chosen.out.resolve(), version_of_project()
    kinds = chosen.kinds or ["deb", "image", "tarball"]
    if unknown := set(kinds) - {"deb", "image", "tarball"}:
        parser.error(f"there is no package {' '.join(unknown)}: there are deb, image and tarball")
    out.mkdir(parents=True, exist_ok=True)

    def made(begin, path):
        print(f"{path.relative_to(out.parent.parent)}  {size(path)}, in {time.monotonic() - begin:.0f} s", flush=True)

    begin = time.monotonic()
    if "deb" in kinds or "image" in kinds:
        package = deb.build(binary, version, out)
        deb.complaints(package)
        made(begin, package)
    begin = time.monotonic()
    if "image" in kinds:
        made(begin, image.build(package, version, out))
    begin = time.monotonic()
    if "tarball" in kinds:
        made(begin, tarball.build(binary, version, out))


if __name__ == "__main__":
    main()
