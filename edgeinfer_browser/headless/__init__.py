"""A real headless browser driven from CPython: what the commands, the packing checks and the benchmarks stand on."""
