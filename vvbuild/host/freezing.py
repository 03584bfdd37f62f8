"""Which targets this machine can freeze, and what to do about the others."""

from __future__ import annotations

from vvbuild.errors import HostCannotFreezeError
from vvbuild.manifest.targets import host_platform, official_targets
from vvbuild.model.target import Target


def freezable(target: Target) -> bool:
    """PyInstaller freezes for the system and processor that it runs on."""
    return target.platform == host_platform()


def require_freezable(target: Target) -> None:
    """Raise :class:`HostCannotFreezeError` with a way out."""
    if freezable(target):
        return
    runner = official_targets()[target].runner
    raise HostCannotFreezeError(
        f"This machine ({host_platform()}) cannot freeze for {target}.",
        context={"target": target, "host": host_platform(), "CI runner that can": runner},
        hint=f"Run it on such a machine: `runs-on: {runner}`, `vvbuild bundle --target {target}`.",
    )
