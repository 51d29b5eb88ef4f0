"""Ways to run the chunks of a sweep: on this machine, on a Slurm cluster, through Dask."""
