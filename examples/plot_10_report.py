"""
A report
========

A report is a single HTML file about a fit that you can explore in a browser or send to a colleague. It needs neither a
network connection nor Python.
"""

# sphinx_gallery_thumbnail_path = 'images/report.png'

import tempfile
from pathlib import Path

import closerthan as ct

answers = ct.datasets.eurodist().comparisons()
result = ct.embed(answers, n_dims=2, seed=0, n_starts=4, validation=0.1)

page = Path(tempfile.mkdtemp()) / "report.html"
ct.write_report(answers, result, page, title="21 European cities")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")

# %%
# .. image:: /images/report.png
#    :alt: The report: a map of 21 cities beside the list of the most violated answers.
#
# :doc:`/reading-a-report` explains its sections.
