"""The Python interface, one module per idea. `import marginbench` offers its names and loads each at its first use."""
