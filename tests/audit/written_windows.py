"""Hand-written ledgers that protect any w steps in a row together; `written.py` says how to read them.

The third figure is W, the largest loss of a window; A, u and ring are as in the design, section 3.
"""

DISTRIBUTED = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "bd"}, "level": "w-event", "window": 3}
 0 perturbed    . 50 |  0 0 50      P=100: 100//2
 1 perturbed    . 25 |  0 0 75      (100-50)//2
 2 perturbed    . 12 |  0 0 87      (100-75)//2
 3 approximated .  - |  0 0 87
 5 perturbed    . 50 |  0 0 87      the window 3 4 5 has spent nothing: 4 was absent
policy 2 {"epsilon": 1.3e-8, "scheme": {"name": "uniform"}, "level": "w-event", "window": 2}
 6 withheld     .  - |  0 0 0       87 of 100 are gone; until 8 the windows of version 1 hold step 5
 7 withheld     .  - |  0 0 0
 8 perturbed    .  6 |  0 0 6       13//2
 9 perturbed    .  6 |  0 0 12
10 perturbed    .  6 |  0 0 12
"""

ABSORBED = """
policy 1 {"epsilon": 1.2e-7, "scheme": {"name": "ba", "dissimilarity": "private"}, "level": "w-event", "window": 3}
 1 perturbed    . 20 |  0 0 80      e1=120//6=20, P=120-60=60, u=20; 20+60 in the window
 2 approximated .  - |  0 0 80      u=20, not dissimilar
 3 perturbed    . 40 |  0 0 120     2 and 3: 2*u; 20+40+60
 4 approximated .  - |  0 0 120     pays back
 5 perturbed    . 20 |  0 0 120
 9 perturbed    . 60 |  0 0 120     6 to 9 are four, of which a window has three
10 approximated .  - |  0 0 120     pays back, as 11 does
12 perturbed    . 20 |  0 0 120
close
"""

JOINT = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "landmarks": [4000, 7000], "window": 2}
 1 perturbed    . 17 |  0 2 17      R=2 a=min(100//3, 100//2)=33 A=100-66=34 34//2
 2 perturbed    . 17 |  0 2 34      1 and 2
 3 perturbed    . 17 |  0 2 34
 4 perturbed    L 33 | 33 1 34      min(100//3, 66//2)
 5 perturbed    . 17 | 33 1 34      R=1 a=min(67//2, 33)=33 A=67-33=34; 4 is a landmark, so 5 stands alone
 6 perturbed    . 17 | 33 1 34
landmarks [[3, 4]] 17 | 50 1 34     at m=17, not at W: 33+17+34 <= 100
 7 perturbed    L 16 | 66 0 34      R=1 a=min(50//2, 50-34)
 8 perturbed    . 17 | 66 0 34      R=0 A=34
 9 perturbed    . 17 | 66 0 34
11 perturbed    . 17 | 66 0 34      10 was absent
12 perturbed    . 17 | 66 0 34      so it goes on for ever
"""

GROWING = """
policy 1 {"epsilon": 1.2e-7, "scheme": {"name": "uniform"}, "landmarks": [3000, 6000, 8000], "window": 2, "spare": 1}
 1 perturbed    . 12 |  0 4 12      R=4 a=min(120//5, 120//4)=24 A=120-96=24
 2 perturbed    . 12 |  0 4 24
 4 perturbed    . 15 |  0 3 24      3 was absent: R=3 a=min(120//4, 96//3)=30 A=30; 3 and 4
 5 perturbed    . 15 |  0 3 30
landmarks [[2, 4]] 15 | 15 3 30     2 was decided, 3 a landmark before: one at m=15
landmarks [[0, 2], [9, 10]] 30 | 45 3 30   0 and 1 are past, with an event or without: 15+2*15+30; the spare is used
 6 perturbed    L 15 | 60 2 30      R=3 a=min(75//4, (75-30)//3)
 7 perturbed    . 15 | 60 2 30      R=2 a=min(60//3, 30//2)=15 A=60-30
 8 perturbed    L 15 | 75 1 30
10 perturbed    . 22 | 75 0 30      9 was absent: R=0 A=45; 7 is out of reach
11 perturbed    . 22 | 75 0 44      22+22
12 perturbed    . 22 | 75 0 44
"""

SHRUNK = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "window": 2}
 1 perturbed    . 50 |  0 0 50
landmarks [[5, 6]] 0 |  0 1 50
 2 approximated .  - |  0 1 50      R=1 a=50 A=50 50//2, but 1 has spent 50
 3 perturbed    . 25 |  0 1 50
 4 perturbed    . 25 |  0 1 50
 5 perturbed    L 50 | 50 0 50
 6 perturbed    . 25 | 50 0 50
"""

HALVED = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "bd"}, "landmarks": [3000], "window": 2}
 1 perturbed    . 25 |  0 1 25      R=1 a=min(100//2, 100)=50 A=50 50//2
 2 perturbed    . 12 |  0 1 37      (50-25)//2
 3 perturbed    L 50 | 50 0 37      Uniform's a=min(100//2, 63)
 4 perturbed    . 25 | 50 0 37      R=0 A=50
 5 approximated .  - | 50 0 37
 6 perturbed    . 25 | 50 0 37
 7 perturbed    . 12 | 50 0 37
"""

SAVED = """
policy 1 {"epsilon": 1.2e-7, "scheme": {"name": "ba"}, "landmarks": [4000], "window": 3}
 1 perturbed    . 20 |  0 1 20      R=1 a=min(120//2, 120)=60 A=60 u=20
 2 perturbed    . 20 |  0 1 40
 3 approximated .  - |  0 1 40
 4 perturbed    L 60 | 60 0 40      min(120//2, 80)
 5 perturbed    . 60 | 60 0 60      R=0 A=60 u=20, unused since 2: three
 6 approximated .  - | 60 0 60      pays back, as 7 does
landmarks [[20, 21]] 0 | 60 1 60
12 perturbed    . 60 | 60 1 60      R=1 a=min(60//2, 60-60)=0 A=60 u=20: a window has three
13 approximated .  - | 60 1 60      pays back, as 14 does
15 perturbed    . 20 | 60 1 60
"""

SKIPPED = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "skip", "accept_risk": true}, "landmarks": [2000], "window": 2}
 1 perturbed    . 50 |  0 1 50      A=100
 2 approximated L  - |  0 0 50
 3 perturbed    . 50 |  0 0 50
 4 perturbed    . 50 |  0 0 100
"""

KEPT = """
policy 1 {"epsilon": 1.01e-7, "scheme": {"name":"balanced","regular_share":0.3}, "landmarks": [[2000,4000]], "window":2}
 0 perturbed    . 15 |  0 2 15      G=30 R=2 a=(101-30)//2=35 A=101-70=31
 1 perturbed    . 15 |  0 2 30
 2 perturbed    L 35 | 35 1 30
 3 perturbed    L 36 | 71 0 30      R=1 101-30-35
 4 perturbed    . 15 | 71 0 30      R=0 A=30
 5 perturbed    . 15 | 71 0 30
"""

TOSSED = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "adaptive"}, "landmarks": [3000], "window": 2}
 0 perturbed    . 25 |  0 1 25      R=1 a=50 A=50
 1 perturbed    . 25 |  0 1 50
 2 approximated .  - |  0 1 50
 3 perturbed    L 50 | 50 0 50      min(100//2, 50)
 4 perturbed    . 25 | 50 0 50
"""

FOLLOWED = """
policy 1 {"epsilon": 1e-7, "scheme": {"name": "uniform"}, "window": 3}
 0 perturbed    . 33 |  0 0 33
 1 perturbed    . 33 |  0 0 66
policy 2 {"epsilon": 2e-8, "scheme": {"name": "uniform"}, "landmarks": [2000]}
 2 withheld     L  - |  0 0 0       66 of 100 are gone; until 4 a window of version 1 holds step 1
 3 withheld     .  - |  0 0 0
 4 perturbed    . 20 |  0 0 20
policy 4 {"epsilon": 1.4e-8, "scheme": {"name": "uniform"}, "landmarks": [5000], "window": 2}
 5 withheld     L  - |  0 0 0       until 6 its own window holds step 4
 6 perturbed    .  7 |  0 0 7
 7 perturbed    .  7 |  0 0 14
close
"""

WINDOWS = {
    "distributed": DISTRIBUTED,
    "absorbed": ABSORBED,
    "joint": JOINT,
    "growing": GROWING,
    "shrunk": SHRUNK,
    "halved": HALVED,
    "saved": SAVED,
    "skipped": SKIPPED,
    "kept": KEPT,
    "tossed": TOSSED,
    "followed": FOLLOWED,
}
