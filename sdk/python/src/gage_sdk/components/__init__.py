"""What runs inside a component: one module for each kind, which imports the author's plugin.py and
holds the class that the exported interface wants.

Nothing here is imported outside of a component, since the generated bindings exist only there.
"""
