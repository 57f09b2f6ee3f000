# The list of plots: one file and one line each.
# SPDX-License-Identifier: BSD-3-Clause
"""
A plot is a module with NAME, SUMMARY, INPUT (what its files are and how they are made), N_INPUTS,
SIZE_MM (width, height), GROWS (may they follow the data?), add_options(parser) and
draw(figure, names, options), which raises Unusable with one line for whoever gave the file.
"""
import plot_addresses
import plot_blame
import plot_compare
import plot_cost
import plot_events
import plot_levels
import plot_threads
import plot_timeline

PLOTS = [
    plot_levels,
    plot_timeline,
    plot_blame,
    plot_compare,
    plot_addresses,
    plot_threads,
    plot_events,
    plot_cost,
]
