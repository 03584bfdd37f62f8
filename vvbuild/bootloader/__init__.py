"""The bootloader of PyInstaller, with our C files in it."""
