"""The image: Debian's essential packages and ours, as one layer in a directory that any OCI tool can read. No daemon."""
import os
import shutil
import time

from tree import architecture, debian_sources, empty, epoch, run

UID = 10001  # as deploy/kubernetes says
# Besides what the package depends on: what agents find in their boxes, which are made of the image's own /usr.
INCLUDED = "sluice-server,git,systemd-standalone-sysusers,systemd-standalone-tmpfiles"
# Nobody reads manuals in an image; licences stay.
LEFT_OUT = ["/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*", "/usr/share/info/*"]
KEPT = ["/usr/share/doc/*/copyright"]


def repository(deb, folder):
    """apt wants packages from an archive, so this is one."""
    empty(folder)
    shutil.copy(deb, folder)
    (folder / "Packages").write_text(run("dpkg-scanpackages", "--multiversion", ".", cwd=folder).split("dpkg-scan")[0])
    return f"deb [trusted=yes] copy:{folder} ./"


def root_tar(deb, work):
    tar = work / "root.tar"
    user = (f'echo sluice:x:{UID}:{UID}:Sluice:/data:/usr/sbin/nologin >>"$1/etc/passwd" && '
            f'echo sluice:x:{UID}: >>"$1/etc/group"')
    paths = [f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT] + [f"--dpkgopt=path-include={path}" for path in KEPT]
    run("mmdebstrap", "--variant=essential", f"--include={INCLUDED}", *paths, f"--essential-hook={user}",
        f'--customize-hook=install -d -m 0700 -o {UID} -g {UID} "$1/data"',
        '--customize-hook=rm -rf "$1/var/log/"* "$1/var/cache/"* "$1/var/lib/apt/lists/"*',
        "bookworm", tar, debian_sources(), repository(deb, work / "repository"),
        env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch())})
    return tar


def build(deb, version, out):
    """Gives the directory; the image in it is called after the version."""
    work, layout = empty(out / "image-work"), out / "image"
    tar = root_tar(deb, work)
    shutil.rmtree(layout, ignore_errors=True)
    name = f"{layout}:{version}"
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
    run("umoci", "init", "--layout", layout)
    run("umoci", "new", "--image", name)
    run("umoci", "raw", "add-layer", "--no-history", "--image", name, tar)
    run("umoci", "config", "--image", name, "--created", moment, "--no-history", "--os", "linux", "--architecture", architecture(),
        "--config.user", f"{UID}:{UID}", "--config.workingdir", "/data", "--config.volume", "/data",
        "--config.exposedports", "8080/tcp", "--config.exposedports", "8090/tcp",
        "--config.env", "PATH=/usr/local/bin:/usr/bin:/bin", "--config.entrypoint", "/usr/bin/sluice",
        "--config.cmd", "serve", "--config.cmd", "--listen", "--config.cmd", "0.0.0.0:8080",
        "--config.cmd", "--data", "--config.cmd", "/data",
        "--config.label", f"org.opencontainers.image.version={version}",
        "--config.label", "org.opencontainers.image.title=sluice",
        "--config.label", "org.opencontainers.image.licenses=Apache-2.0")
    run("umoci", "gc", "--layout", layout)
    shutil.rmtree(work)
    return layout
