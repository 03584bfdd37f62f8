/*
 * SPDX-License-Identifier: MIT
 *
 * Asks the graphics drivers of notebooks with two GPUs for the faster one.
 *
 * When a program starts, NVIDIA's and AMD's drivers for Windows look into the export table of
 * its EXE (not of its DLLs) for these two variables. Bit 0 set means: run this program on the
 * discrete GPU. NVIDIA reads only that bit, and lets the user's settings and its own
 * application profiles win. AMD says that its variable counts for DirectX and OpenGL, not for
 * Vulkan or OpenCL.
 *
 * For an engine this decides which GPU comes first for DirectML, which counts adapters through
 * DXGI. CUDA numbers its devices by itself and is not touched.
 *
 * The bootloader of PyInstaller *is* the EXE of a frozen program, so the variables must be
 * compiled into it. dllexport makes the compiler emit a linker directive, by which the
 * variables survive although nothing in the program refers to them. exports.toml names them
 * once more, for the check of the finished EXE.
 */
#ifdef _WIN32

#include <windows.h>

__declspec(dllexport) DWORD NvOptimusEnablement = 1;
__declspec(dllexport) DWORD AmdPowerXpressRequestHighPerformance = 1;

#endif
