"""Compares the figures of gage-host with those of other programs."""
