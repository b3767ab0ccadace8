# Uses no CPU time at all.
import time
time.sleep(600)
