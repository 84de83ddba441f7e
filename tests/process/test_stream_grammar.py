"""The checker that the other tests trust: it takes the sample streams and nothing that breaks a rule (I-5, I-7)."""
import json
import pathlib
import unittest

from stream_grammar import NotAStream, check_stream, message_bytes

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "golden" / "streams"


def sample(name):
    return (SAMPLES / f"{name}.ndjson").read_bytes().split(b"\n")[:-1]


def changed(lines, index, **fields):
    """The lines with members of one event replaced."""
    event = json.loads(lines[index]) | fields
    return lines[:index] + [json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()] + lines[index + 1:]


class TheChecker(unittest.TestCase):
    def assert_broken(self, lines, **options):
        with self.assertRaises(NotAStream):
            check_stream(lines, **options)

    def test_takes_every_sample(self):
        for path in SAMPLES.glob("*.ndjson"):
            check_stream(path.read_bytes().split(b"\n")[:-1])

    def test_a_partial_stream_is_only_accepted_on_request(self):
        for lines in (sample("plain_reply")[:2], sample("approval")[:3], sample("capacity_hold")[:1], []):
            check_stream(lines, whole=False)
            self.assert_broken(lines)

    def test_takes_a_later_part(self):
        check_stream(sample("approval")[2:], first_seq=2)
        self.assert_broken(sample("approval")[2:5], first_seq=2)
        self.assert_broken(sample("approval")[2:], first_seq=1)

    def test_refuses_gaps_and_repetitions(self):
        lines = sample("plain_reply")
        self.assert_broken(lines[:1] + lines[2:])
        self.assert_broken(lines[:2] + lines[1:])
        self.assert_broken(lines[1:])

    def test_refuses_what_is_not_the_grammar(self):
        lines = sample("plain_reply")
        self.assert_broken(lines + changed(lines, 3, seq=4)[3:])
        self.assert_broken(changed(lines, 1, type="message_start", data={"role": "assistant"}))
        approval = sample("approval")
        self.assert_broken(approval[:3] + changed(approval, 4, seq=3)[4:5] + changed(approval, 5, seq=4)[5:])

    def test_refuses_other_envelopes(self):
        lines = sample("plain_reply")
        for fields in ({"object": "event"}, {"type": "delta"}, {"message_id": None}, {"conversation_id": "con_1"},
                       {"seq": "1"}, {"seq": True}, {"created_at": "2026-03-14 09:00:02"}, {"data": []}, {"extra": 1},
                       {"created_at": "2025-03-14T09:00:02.310Z"}):
            self.assert_broken(changed(lines, 1, **fields))
        event = json.loads(lines[0])
        shuffled = {k: event[k] for k in reversed(event)}
        self.assert_broken([json.dumps(shuffled).encode()] + lines[1:])

    def test_refuses_lines_that_are_not_one_object(self):
        lines = sample("plain_reply")
        for line in (b"", b"{", lines[1] + lines[1], lines[1] + b" ", lines[1][:-20], b"\xff" + lines[1]):
            self.assert_broken(lines[:1] + [line] + lines[2:])

    def test_refuses_deltas_that_are_not_the_message(self):
        lines = sample("filler")
        self.assert_broken(changed(lines, 1, data={"text": "Let me look. "}))
        self.assert_broken(changed(lines, 3, data={"text": "High water is at 16:21."}))

    def test_refuses_a_position_that_grows_and_one_that_is_repeated_without_a_longer_wait(self):
        head, places = sample("capacity_hold")[0], ((3, 5), (2, 4), (2, 8), (1, 9))

        def told(*places):
            return [changed([head], 0, seq=seq, data={"position": position, "retry_hint_seconds": seconds})[0]
                    for seq, (position, seconds) in enumerate(places)]

        check_stream(told(*places), whole=False)
        for wrong in (((1, 5), (2, 5)), ((2, 5), (2, 5)), ((2, 5), (2, 9))):
            self.assert_broken(told(*wrong), whole=False)

    def test_finds_the_bytes_of_the_message(self):
        line = sample("approval")[-1]
        self.assertEqual(json.loads(message_bytes(line)), json.loads(line)["data"]["message"])
        self.assertTrue(message_bytes(line).startswith(b'{"object":"message"'))
        self.assertTrue(message_bytes(line).endswith(b"}"))


if __name__ == "__main__":
    unittest.main()
