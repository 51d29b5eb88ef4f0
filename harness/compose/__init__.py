"""From overrides to configurations. The only room that imports Hydra.

`hydra_loader` composes through Hydra's public interface, `composer` makes one configuration (fast, for every cell of a
sweep), `grid` expands lists into the cells of a sweep, `cells` turns configurations into cells.
"""

from marginbench.harness.compose.composer import Composer, compose_cell

__all__ = ["Composer", "compose_cell"]
