"""What becomes of an answer when its reader leaves, and when the server is killed."""
import time

from contender import say
from peers.peer import Unavailable

COUNT, RATE = 20, 20  # words of the answer that is struck, and how many come in a second
LAST = f"w{COUNT}"
FAULTS = (Exception, SystemExit)  # whatever a peer does, its fate is told


def stored_in_full(contender, conversation, seconds):
    """Whether the whole answer is in the store before the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if (contender.answer(conversation) or "").rstrip().endswith(LAST):
                return True
        except FAULTS:
            pass  # not there, or not yet
        time.sleep(0.1)
    return False


def readable_again(contender, conversation, stream):
    """How many deltas of the stream can be read again from its beginning."""
    try:
        again = contender.again(conversation, stream)
        return again.to_the_end().deltas if again else None
    except FAULTS:
        return 0


def struck(contender, strike):
    """{stored, again} of an answer that is struck after its first word."""
    conversation = contender.create()
    stream = contender.begin(conversation, f"tokens {COUNT} {RATE}")
    if not stream.until_delta():
        raise Unavailable("no word came of the answer that was to be struck")
    strike(stream)
    return {"stored": stored_in_full(contender, conversation, COUNT / RATE + 5),
            "again": readable_again(contender, conversation, stream)}


def after_disconnect(contender):
    return struck(contender, lambda stream: stream.close())


def after_kill(contender):
    """As above; and whether an answer that was complete before is still there."""
    earlier = contender.create()
    contender.begin(earlier, f"tokens {COUNT}").to_the_end().close()

    def strike(stream):
        contender.kill()
        stream.close()
        contender.launch()
    fate = struck(contender, strike)
    return {**fate, "kept": stored_in_full(contender, earlier, 2)}


def of(contender):
    """{disconnect: …, kill: …}; a fate that could not be told is a sentence."""
    told = {}
    for name, story in {"disconnect": after_disconnect, "kill": after_kill}.items():
        say(f"  {contender.name}: {name}")
        try:
            contender.start()
            try:
                contender.patience = 10
                told[name] = story(contender)
            finally:
                contender.stop()
        except FAULTS as fault:
            told[name] = f"not told: {fault}"[:160]
    return told
