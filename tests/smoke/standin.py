"""An engine that speaks in tones, and misbehaves as behaviour.json beside it says."""

import argparse
import hashlib
import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from array import array
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parent
BEHAVIOUR = json.loads((ROOT / "behaviour.json").read_text())
MANIFEST = json.loads((ROOT / "engine_manifest.json").read_text())
RATE = 24000
MORA = {"text": "ア", "vowel": "a", "vowel_length": 0.15, "pitch": 5.0}
PICTURE = "iVBORw0KGgo="
# Processor seconds for a second of sound.
COST = 0.05


def note(line):
    with (ROOT / "seen").open("a") as stream:
        stream.write(line + "\n")


def query_of(text):
    tone = 200 + hashlib.sha256(text.encode()).digest()[0]
    moras = [MORA | {"pitch": math.log(tone)} for _ in text]
    phrases = [{"moras": moras, "accent": 1, "pause_mora": None}] if text.strip("！") else []
    return {
        "accent_phrases": phrases,
        "speedScale": 1.0,
        "prePhonemeLength": 0.1,
        "postPhonemeLength": 0.1,
        "outputSamplingRate": RATE,
        "outputStereo": False,
    }


def wav_of(query, *, rate=RATE):
    moras = [mora for phrase in query["accent_phrases"] for mora in phrase["moras"]]
    seconds = 0.2 + sum(mora["vowel_length"] for mora in moras)
    seconds *= BEHAVIOUR.get("stretch", 1.0)
    tone = 300 if BEHAVIOUR.get("same") else round(math.exp(moras[0]["pitch"]))
    level = BEHAVIOUR.get("level", 0.3) * 32767
    period = [math.sin(2 * math.pi * step * tone / RATE) * level for step in range(RATE // tone)]
    one = array("h", [max(-32768, min(32767, int(value))) for value in period])
    pcm = (one * (int(seconds * RATE) // len(one) + 1))[: int(seconds * RATE)]
    data = pcm.tobytes()
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    body = b"WAVE" + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body, seconds


def compute(seconds, gone):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(20000))
        if gone():
            return False
    return True


class Handler(BaseHTTPRequestHandler):
    last_query = None
    turn = threading.Lock()

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.route(
            {
                "/version": lambda: BEHAVIOUR.get("version", MANIFEST["version"]),
                "/engine_manifest": self.manifest,
                "/speakers": self.speakers,
                "/speaker_info": self.speaker_info,
            }
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.query = json.loads(body) if body else None
        routes = {"/audio_query": lambda: query_of(self.params["text"]), "/synthesis": self.speak}
        if "cancel" in BEHAVIOUR:
            routes["/cancellable_synthesis"] = self.speak_or_leave
        self.route(routes)

    def route(self, routes):
        address = urlsplit(self.path)
        self.params = {name: value[0] for name, value in parse_qs(address.query).items()}
        note(address.path)
        fault = BEHAVIOUR.get("faults", {}).get(address.path)
        if fault == "hang":
            time.sleep(600)
        elif fault == "die":
            print("out of cheese", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "drip":
            self.drip()
        elif fault == "no json":
            self.send(200, b"<html>")
        elif fault is not None:
            self.send(fault, b"Internal Server Error")
        elif address.path not in routes:
            self.send(404, b'{"detail":"Not Found"}')
        else:
            result = routes[address.path]()
            data = result if isinstance(result, bytes) else json.dumps(result).encode()
            self.send(200, data)

    def send(self, status, data):
        try:
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            note("gone")

    def drip(self):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def manifest(self):
        texts = {"icon": PICTURE, "update_infos": [], "dependency_licenses": []}
        features = {"sing": False}
        return MANIFEST | texts | {"supported_features": features} | BEHAVIOUR.get("tells", {})

    def speakers(self):
        styles = [{"name": "歌", "id": 9, "type": "sing"}, {"name": "普通", "id": 3}]
        speaker = {"name": "声", "speaker_uuid": "u1", "styles": styles, "version": "1.0.0"}
        return BEHAVIOUR.get("speakers", [speaker])

    def speaker_info(self):
        info = {"policy": "", "portrait": PICTURE, "style_infos": [{"id": 3, "icon": PICTURE}]}
        return info | BEHAVIOUR.get("speaker_info", {})

    def speak(self):
        if (ROOT / "seen").read_text().count("\n/synthesis\n") >= BEHAVIOUR.get("hangs_from", 99):
            time.sleep(600)
        if self.params["speaker"] != "3":
            return b"a singer does not talk"
        query = self.query
        if BEHAVIOUR.get("mixes"):
            Handler.last_query = query
            time.sleep(0.3)
            query = Handler.last_query
        wav, seconds = wav_of(query, rate=BEHAVIOUR.get("rate", RATE))
        compute(seconds * COST, lambda: False)
        return wav[: BEHAVIOUR.get("cut")]

    def speak_or_leave(self):
        if BEHAVIOUR.get("one_at_a_time"):
            with Handler.turn:
                return self.say_it()
        return self.say_it()

    def say_it(self):
        wav, seconds = wav_of(self.query)
        if BEHAVIOUR["cancel"] == "elsewhere":
            # What a GPU looks like: the time passes, no processor is used.
            end = time.monotonic() + seconds * COST
            while time.monotonic() < end and not self.client_left():
                time.sleep(0.005)
        else:
            compute(seconds * COST, self.client_left)
        return wav

    def client_left(self):
        if BEHAVIOUR["cancel"] == "ignored":
            return False
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def end(number, frame):
    os._exit(BEHAVIOUR.get("end_status", 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--flag", action="store_true")
    arguments = parser.parse_args()
    note(json.dumps({"cwd": str(Path.cwd()), "flag": arguments.flag, "environ": dict(os.environ)}))
    (ROOT / "pid").write_text(str(os.getpid()))
    if "say" in BEHAVIOUR:
        print(BEHAVIOUR["say"] * BEHAVIOUR.get("times", 1), flush=True)
    if "exit" in BEHAVIOUR:
        sys.exit(BEHAVIOUR["exit"])
    if BEHAVIOUR.get("sigterm") == "ignored":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif BEHAVIOUR.get("sigterm") != "default":
        signal.signal(signal.SIGTERM, end)
    if "child" in BEHAVIOUR:
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            start_new_session=BEHAVIOUR["child"] == "own session",
            stdout=None if BEHAVIOUR["child"] == "own session" else subprocess.DEVNULL,
        )
        (ROOT / "child").write_text(str(child.pid))
    if BEHAVIOUR.get("deaf"):
        threading.Event().wait()
    Server((arguments.host, arguments.port), Handler).serve_forever()


main()
