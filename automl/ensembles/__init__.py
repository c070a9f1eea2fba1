"""Ensembles of evaluated models, and the evidence for them (L14, sections 3 and 4; H18, section 2.5.3)."""
