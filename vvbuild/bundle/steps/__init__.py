"""The steps of a bundle: each names its inputs and calls one working part."""
