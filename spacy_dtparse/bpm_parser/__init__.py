"""Dependencies by linear models of links; a chart or a maximum spanning tree gives the best tree."""
