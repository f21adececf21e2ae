"""Bridges: devices and programs that sense for a Being and act for it.

A bridge is one open connection to one server process, and its acts and senses are known to that
process alone. Where several processes serve one store, route the bridges and the clients of a
Being to the same one (by the Being's id in the path).
"""

from clawkit.memory.bridges.registry import Bridge as Bridge
from clawkit.memory.bridges.registry import Bridges as Bridges
