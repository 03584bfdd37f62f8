import json
import shutil
import socket
import zipfile

import pytest


def fails(done, *words):
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_without_onnx_runtime_it_says_where_it_looked(run_to_end, bare_root):
    fails(run_to_end(bare_root), "ERROR: There is no ONNX Runtime library", str(bare_root))


def test_a_file_that_is_not_onnx_runtime_is_refused(run_to_end, altered_root, library_dir):
    (library,) = library_dir.iterdir()
    (altered_root / library.name).write_bytes(b"not a library")
    fails(run_to_end(altered_root), "Could not load", library.name)


def test_another_directory_for_the_library_takes_the_place_of_the_engines_own(
    start_engine, bare_root, library_dir, tmp_path
):
    first = ("--runtime_dir", tmp_path, "--runtime_dir", library_dir)
    engine = start_engine(bare_root, *first)
    assert str(library_dir) in engine.read_log()


def test_a_gpu_that_the_library_cannot_use_is_refused(run_to_end, engine_root):
    fails(run_to_end(engine_root, "--use_gpu"), "--use_gpu", "neither CUDA nor DirectML")
    fails(run_to_end(engine_root, env={"VV_USE_GPU": "1"}), "neither CUDA nor DirectML")


def test_a_missing_character_is_named(run_to_end, altered_root, library_dir):
    characters = sorted((altered_root / "resources/character_info").iterdir())
    shutil.rmtree(characters[0])
    done = run_to_end(altered_root, "--runtime_dir", library_dir)
    fails(done, "The engine lacks a file", characters[0].name)


def test_without_voices_it_says_where_it_looked(run_to_end, engine_root, tmp_path):
    done = run_to_end(engine_root, "--voicelib_dir", tmp_path)
    fails(done, "There is no voice model", str(tmp_path / "model"))


def test_a_voice_model_that_is_none_is_refused(run_to_end, engine_root, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.vvm").write_bytes(b"no zip")
    fails(run_to_end(engine_root, "--voicelib_dir", tmp_path), "a.vvm is not a voice model")


def rewrite_model(source, target, change):
    """Copy a voice model, with each member passed through ``change(name, data)``."""
    target.parent.mkdir(parents=True)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))


def test_a_model_that_onnx_runtime_refuses_is_named(run_to_end, engine_root, tmp_path):
    target = tmp_path / "model" / "broken.vvm"
    source = engine_root / "model" / "sample.vvm"
    rewrite_model(source, target, lambda name, data: b"" if name.endswith("onnx") else data)
    done = run_to_end(engine_root, "--voicelib_dir", tmp_path)
    fails(done, "ONNX Runtime refused", "broken.vvm")


def test_an_inference_that_fails_is_a_server_error_in_json(start_engine, engine_root, tmp_path):
    def no_such_row(name, data):
        if name != "manifest.json":
            return data
        manifest = json.loads(data)
        manifest["sample"]["style_id_to_inner_voice_id"]["0"] = 99
        return json.dumps(manifest)

    source = engine_root / "model" / "sample.vvm"
    rewrite_model(source, tmp_path / "model" / "odd.vvm", no_such_row)
    engine = start_engine(engine_root, "--voicelib_dir", tmp_path)
    query = engine.query("あ")
    answer = engine.client.post("/synthesis", params={"speaker": 0}, json=query)
    assert answer.status_code == 500
    assert "Gather" in answer.json()["detail"]
    assert engine.speak(query, speaker=1)


def test_variables_stand_in_for_options(start_engine, engine_root):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"VV_HOST": "localhost", "VV_PORT": str(port), "VV_CPU_NUM_THREADS": "3"}
    engine = start_engine(engine_root, env=env)
    assert engine.url == f"http://localhost:{port}"


@pytest.mark.parametrize(
    "env", [{"VV_PORT": "many"}, {"VV_USE_GPU": "yes"}, {"VV_CPU_NUM_THREADS": "-1"}]
)
def test_a_variable_that_cannot_be_meant_is_wrong_use(run_to_end, engine_root, env):
    done = run_to_end(engine_root, env=env)
    assert done.returncode == 2
    assert "usage: run" in done.stderr


def test_a_port_that_is_taken_ends_the_second_engine(run_to_end, start_engine, engine_root):
    first = start_engine(engine_root)
    done = run_to_end(engine_root, "--port", first.port)
    assert done.returncode not in (0, 2)
    assert str(first.port) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_line_for_the_real_engine_is_understood(start_engine, engine_root):
    engine = start_engine(
        engine_root,
        *("--host", "127.0.0.1", "--cpu_num_threads", "2", "--output_log_utf8"),
        *("--enable_cancellable_synthesis", "--init_processes", "2"),
        env={"VV_OUTPUT_LOG_UTF8": "1", "VV_USE_GPU": "0"},
    )
    assert engine.client.get("/version").status_code == 200
