"""English words that say nothing about what a page is about; contractions as the one word they join to.

Words that name something in this trade are not among them, however common: go, make, id, set.
"""

from __future__ import annotations

_WORDS = """
a about above after again against all also am an and any are as at be because been before being below between
both but by can could did do does doing done down during each either else ever every few for from further get
gets getting goes going gonna got had has have having he her here hers herself hi him himself his how i if in
into is it its itself just know let lets like may maybe me might mine more most much must my myself need needs
neither no nor not now of off oh ok okay on once one only or other ought our ours ourselves out over own per
please put quite rather really said same say says see shall she should since so some something still such tell
than thank thanks that the their theirs them themselves then there these they thing things think this those
though through thus to too try under until up upon us use used using very want wants was way we well were what
whatever when where whether which while who whom whose why will with within without would yeah yes yet you
your yours yourself yourselves
aint arent cant couldnt didnt doesnt dont hadnt hasnt havent hes im isnt itd itll ive mightnt mustnt shes
shouldnt thats theres theyd theyll theyre theyve wasnt weve werent whats wheres whos wont wouldnt youd youll
youre youve
"""

STOP_WORDS = frozenset(_WORDS.split())
