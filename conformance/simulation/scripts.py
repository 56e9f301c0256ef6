"""The faults of clusters, by name; in the scripted cluster's vocabulary."""

from __future__ import annotations

from isolane.fixtures.cluster.vocabulary import Script, Trickle, When

_SOME = When(share=0.5)

SCRIPTS = {
    "refuses connections": Script(refuse=True),
    "answers nothing": Script(black_hole=True),
    "answers half": Script(black_hole=True, when=_SOME),
    "is slow": Script(latency=0.15),
    "is slower than the deadline": Script(latency=1.0),
    "varies": Script(jitter=0.1),
    "trickles": Script(trickle=Trickle(size=64, interval=0.05)),
    "takes one request at once": Script(latency=0.02, admit=1),
    "has too many requests": Script(status=429),
    "asks to come back later": Script(status=429, retry_after=1, when=When(first=2)),
    "is unavailable": Script(status=503),
    "is unavailable at times": Script(status=503, when=_SOME),
    "knows no credentials": Script(status=401),
    "takes small bodies only": Script(body_limit=600),
    "cannot parse requests": Script(status=400, when=When(first=3)),
    "refuses every other item": Script(items=(201, 429)),
    "cannot map every third item": Script(items=(201, 201, 400)),
    "has blocked the index": Script(items=(403,)),
    "loses replies": Script(lose_reply=True, when=_SOME),
    "resets connections": Script(reset_after=10, when=_SOME),
    "is a proxy": Script(not_json=True),
    "leaves out the last item": Script(short_reply=1),
    "contradicts itself": Script(items=(201, 429), contradict=True),
}
"""What a cluster may do while it is sick."""
