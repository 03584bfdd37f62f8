"""A small engine that makes sound: what ``--release sample`` builds.

The files beside this one are laid out as an engine checkout. ``vvbuild/ort`` and
``vvbuild/__init__.py`` are put beside ``run.py`` before it is frozen; nothing else of
vvbuild goes into it.
"""
