"""What each component is, in a sentence."""

from __future__ import annotations

from vvbuild.model.release import ComponentName

SUMMARIES: dict[ComponentName, str] = {
    "engine": "The server that the editor talks to: what a release is a release of.",
    "core": "The library that turns text into speech; it opens ONNX Runtime by a file name.",
    "extra-cores": "Further cores in one bundle; one ONNX Runtime and one CUDA must serve all.",
    "downloader": "The program of the core's release that fetches the parts of a bundle.",
    "onnxruntime": "The library that infers; whose build it is (its flavour) decides what it "
    "needs.",
    "cuda": "NVIDIA's toolkit; the CUDA provider is linked with one major of it.",
    "cudnn": "NVIDIA's library of convolutions; majors have other file names.",
    "directml": "Microsoft's library for any GPU on Windows.",
    "zlibwapi": "zlib as a library for Windows, which cuDNN 8 loads.",
    "additional-libraries": "CUDA, cuDNN and DirectML as VOICEVOX packs them for its downloader.",
    "models": "The voices, as .vvm files of a format that the core must know.",
    "resource": "The voices' names, pictures and samples.",
    "dictionary": "The dictionary that readings of words come from.",
    "python": "The interpreter that the engine is frozen with, and that its bundle carries.",
    "pyinstaller": "What freezes the engine into a program.",
}
