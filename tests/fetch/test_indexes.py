"""Which servers a machine is configured to use, as pip, uv and npm understand it."""

from __future__ import annotations

import sys

import pytest

from vvbuild.errors import UsageError
from vvbuild.fetch.indexes import PUBLIC_NPM, PUBLIC_PYPI, Index, Indexes
from vvbuild.fetch.urls import Credentials, Origin

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the files of a Unix are made")


@pytest.fixture
def env(tmp_path, monkeypatch):
    """An environment with a home of its own and system files that are not there."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "npm_config_globalconfig": str(tmp_path / "global-npmrc"),
    }


@pytest.fixture
def write(tmp_path):
    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


def pypi(env):
    return Indexes.configured(env).pypi.url


def npm(env):
    return Indexes.configured(env).npm.url


@pytest.fixture(autouse=True)
def no_system_files(monkeypatch):
    """What this machine has in /etc must not decide."""
    from vvbuild.fetch import indexes

    real = indexes._read
    monkeypatch.setattr(
        indexes, "_read", lambda file: None if str(file).startswith("/etc/") else real(file)
    )


def test_without_configuration_the_public_servers_are_used(env):
    found = Indexes.configured(env)
    assert (found.pypi.url, found.npm.url) == (PUBLIC_PYPI, PUBLIC_NPM)
    assert found.github.url == "https://github.com/"
    assert found.pypi.configured_by == "default"


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_a_variable_names_the_index(env, variable):
    env[variable] = "https://mirror.test/simple"
    found = Indexes.configured(env).pypi
    assert (found.url, found.configured_by) == ("https://mirror.test/simple/", variable)


def test_an_empty_variable_names_nothing(env):
    env["PIP_INDEX_URL"] = ""
    assert pypi(env) == PUBLIC_PYPI


def test_uv_may_give_its_index_a_name(env):
    env["UV_DEFAULT_INDEX"] = "corp-1=https://mirror.test/simple/"
    assert pypi(env) == "https://mirror.test/simple/"


def test_a_variable_wins_over_files(env, write):
    write(".config/pip/pip.conf", "[global]\nindex-url = https://file.test/\n")
    assert pypi(env) == "https://file.test/"
    env["UV_INDEX_URL"] = "https://variable.test/"
    assert pypi(env) == "https://variable.test/"


@pytest.mark.parametrize(
    "path", [".config/pip/pip.conf", ".pip/pip.conf", "xdg/pip/pip.conf", "prefix/pip.conf"]
)
@pytest.mark.parametrize("key", ["index-url", "index_url"])
def test_each_file_of_pip_is_read(env, write, path, key):
    write(path, f"[global]\ntimeout = 9\n{key} = https://file.test/simple\n")
    assert pypi(env) == "https://file.test/simple/"


def test_pips_section_for_install_wins(env, write):
    write(
        ".pip/pip.conf", "[global]\nindex-url=https://a.test/\n[install]\nindex-url=https://b.test/"
    )
    assert pypi(env) == "https://b.test/"


def test_the_users_file_wins_over_the_systems(env, write):
    write("xdg/pip/pip.conf", "[global]\nindex-url=https://system.test/")
    write(".config/pip/pip.conf", "[global]\nindex-url=https://user.test/")
    assert pypi(env) == "https://user.test/"


def test_pip_config_file_wins_and_may_turn_all_files_off(env, write, tmp_path):
    write(".config/pip/pip.conf", "[global]\nindex-url=https://user.test/")
    write("own.conf", "[global]\nindex-url=https://own.test/")
    assert pypi(env | {"PIP_CONFIG_FILE": str(tmp_path / "own.conf")}) == "https://own.test/"
    assert pypi(env | {"PIP_CONFIG_FILE": "/dev/null"}) == PUBLIC_PYPI


@pytest.mark.parametrize(
    "text",
    [
        'index-url = "https://uv.test/"',
        '[pip]\nindex-url = "https://uv.test/"',
        '[[index]]\nurl = "https://a.test/"\n[[index]]\nurl = "https://uv.test/"\ndefault = true',
    ],
)
@pytest.mark.parametrize("path", [".config/uv/uv.toml", "xdg/uv/uv.toml"])
def test_each_way_of_uv_is_read(env, write, path, text):
    write(path, text)
    assert pypi(env) == "https://uv.test/"
    assert pypi(env | {"UV_NO_CONFIG": "1"}) == PUBLIC_PYPI


def test_an_extra_index_of_uv_is_not_the_default(env, write):
    write(".config/uv/uv.toml", '[[index]]\nurl = "https://extra.test/"')
    assert pypi(env) == PUBLIC_PYPI


def test_uv_config_file_is_read_alone(env, write, tmp_path):
    write(".config/uv/uv.toml", 'index-url = "https://user.test/"')
    write("own.toml", 'index-url = "https://own.test/"')
    assert pypi(env | {"UV_CONFIG_FILE": str(tmp_path / "own.toml")}) == "https://own.test/"


def test_a_broken_file_is_named_and_not_quoted(env, write):
    write(".config/pip/pip.conf", "index-url = https://me:secret@file.test/\n")
    with pytest.raises(UsageError, match=r"pip\.conf cannot be read") as caught:
        Indexes.configured(env)
    assert "secret" not in caught.value.message
    assert caught.value.__cause__ is None


def test_a_broken_uv_file_is_named(env, write):
    write(".config/uv/uv.toml", "index-url = ")
    with pytest.raises(UsageError, match=r"uv\.toml cannot be read"):
        Indexes.configured(env)


@pytest.mark.parametrize("name", ["npm_config_registry", "NPM_CONFIG_REGISTRY"])
def test_a_variable_names_the_registry(env, write, name):
    write(".npmrc", "registry=https://user.test/")
    assert npm(env | {name: "https://npm.test/root"}) == "https://npm.test/root/"


def test_npms_files_are_read_and_the_users_wins(env, write):
    write("global-npmrc", "registry = https://global.test/\n")
    assert npm(env) == "https://global.test/"
    write(".npmrc", "; a comment\n# registry=https://no.test/\nregistry = 'https://user.test/'\n")
    assert npm(env) == "https://user.test/"


def test_npms_variables_in_files_are_filled_in(env, write):
    write(".npmrc", "registry=https://${WHO}:${PW}@user.test/\n")
    found = Indexes.configured(env | {"WHO": "me", "PW": "secret"}).npm
    assert (found.url, found.credentials) == ("https://user.test/", Credentials("me", "secret"))


def test_scopes_of_npm_have_their_registries(env, write):
    write(".npmrc", "@corp:registry=https://corp.test/\n//corp.test/:_authToken=x\nfund=false\n")
    found = Indexes.configured(env)
    assert found.registry("@corp/tool").url == "https://corp.test/"
    assert found.registry("@other/tool").url == PUBLIC_NPM
    assert found.registry("corp").url == PUBLIC_NPM


def test_github_can_be_a_mirror(env):
    env["VVBUILD_GITHUB_URL"] = "https://mirror.test/github"
    assert Indexes.configured(env).github.url == "https://mirror.test/github/"


def test_credentials_are_kept_apart_from_the_address():
    index = Index.parse("https://me:p%40ss@host.test:8443/simple", "here")
    assert index.url == "https://host.test:8443/simple/"
    assert index.credentials == Credentials("me", "p@ss")
    assert index.origin == Origin("https", "host.test", 8443)
    assert "me" not in repr(index.credentials)
    assert "p@ss" not in repr(index)


@pytest.mark.parametrize(
    "url", ["file:///srv/simple", "mirror.test/simple", "https://", "http://h:x"]
)
def test_an_address_that_is_not_of_http_names_who_configured_it(env, url):
    env["PIP_INDEX_URL"] = url
    with pytest.raises(UsageError, match="PIP_INDEX_URL"):
        Indexes.configured(env)


def test_a_broken_address_shows_no_password(env):
    env["PIP_INDEX_URL"] = "https://me:se/cret@host.test/"
    with pytest.raises(UsageError) as caught:
        Indexes.configured(env)
    assert "cret" not in caught.value.message
