"""What a log says: its lines read from files, and the figures that they add up to.

``toolfold stats`` and the explorer use it; the gateway's layer leaves it out.

- ``follower``: what is new in a file that another process appends to
- ``figures``: the lines of files, of stdin and of what tools of AWS print, sums over them, and the seven figures of
  progressive loading
"""
