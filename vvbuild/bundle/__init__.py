"""Use-cases that make a bundle: bootloader, environment, freeze, assemble."""
