"""No secret leaves the process: ten kinds planted, in every place that is written."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.config_check.comparison import compare_packs
from msprobe.config_check.log_comparison import compare_logs
from msprobe.config_check.pack import write_pack
from msprobe.config_check.redaction import REDACTED, is_secret_name, redacted, redacted_text
from tests.msprobe.config_check.tables import pack

# Each is named by the variable that holds it. None is, or ever was, a key of anything.
SECRETS = {
    "DB_PASSWORD": "tr0ub4dor",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzEXAMPLE",
    "AWS_ACCESS_KEY_ID": "AKIAZZZZZZZZEXAMPLE0",
    "WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567",
    "HF_TOKEN": "hf_abcdefghijABCDEFGHIJabcdefghijABCD",
    "GIT_REMOTE": "https://somebody:s3cr3tpart@example.org/x.git",
    "PIP_HEADER": "Authorization: Bearer abcdef.ghijkl-mnopqr_stuvwx",
    "SSH_IDENTITY": "-----BEGIN RSA PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END RSA PRIVATE KEY-----",
    "LAUNCH_LINE": "train.py --wandb-key abc9def8 --api_token=xyz7uvw6 --lr 0.1",
    "SESSION_JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXBhcnQ",
    "SLACK_WEBHOOK_URL": "https://hooks.example.org/services/T000/B000/XXXXYYYY",
    "UNNAMED": "q8Zk2Lw9Xc4Vb7Nm1As5Df3Gh6Jk0PoIu",
}
TRACES = [
    "tr0ub4dor",
    "wJalrXUtnFEMI",
    "AKIAZZZZZZZZ",
    "0123456789abcdef",
    "hf_abcdefghij",
    "s3cr3tpart",
    "abcdef.ghijkl",
    "b3BlbnNzaC1r",
    "abc9def8",
    "xyz7uvw6",
    "eyJhbGciOiJIUzI1NiJ9",
    "XXXXYYYY",
    "q8Zk2Lw9Xc4Vb7Nm1",
]


def assert_clean(text: str) -> None:
    assert [trace for trace in TRACES if trace in text] == []


def everything(folder: Path) -> str:
    """All that was written below a folder, zips and workbooks opened."""
    found = []
    for file in folder.rglob("*"):
        if file.suffix in (".zip", ".xlsx"):
            with zipfile.ZipFile(file) as packed:
                found += [
                    packed.read(name).decode("utf-8", "replace") for name in packed.namelist()
                ]
        elif file.is_file():
            found.append(file.read_text(encoding="utf-8"))
    return "\n".join(found)


def test_pack_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    out.mkdir()
    script, settings = tmp_path / "train.sh", tmp_path / "train.yaml"
    script.write_text(
        "export HF=hf_abcdefghijABCDEFGHIJabcdefghijABCD\n"
        "torchrun train.py --hub-token $HF --url $GIT_REMOTE --password tr0ub4dor --lr 1e-4\n"
    )
    settings.write_text(
        "logging:\n  wandb_api_key: 0123456789abcdef\n  db:\n    password: tr0ub4dor\n"
    )
    write_pack(out / "pack.zip", [script, settings])
    text = everything(out)
    assert_clean(text)
    assert '"lr": "1e-4"' in text
    assert text.count(REDACTED) >= len(SECRETS)


def test_comparison_of_a_pack_that_another_tool_wrote_holds_no_secret(tmp_path: Path) -> None:
    frame = "File /a.py, line 1, in <module>, login(token='hf_abcdefghijABCDEFGHIJabcdefghijABCD')"
    content = {
        "env": SECRETS,
        "pip": "torch=2\n",
        "static": {"password": "tr0ub4dor", "lr": 1, "nested": {"api_key": "abc9def8"}},
        "random": {"torch.rand": [{"count": 1, "stack": [frame]}]},
    }
    first = pack(tmp_path / "a.zip", **content)
    second = pack(tmp_path / "b.zip", **{**content, "static": {"password": "s3cr3tpart", "lr": 2}})
    out = tmp_path / "out"
    compare_packs(first, second, out)
    assert_clean(everything(out))


def test_configurations_of_logs_hold_no_secret(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(
            "{'actor_rollout_ref': {'lr': 1, 'proxy': 'https://u:s3cr3tpart@h/'},\n"
            " 'trainer': {'wandb_api_key': '0123456789abcdef'}}\n"
        )
    compare_logs("verl", tmp_path / "a.log", tmp_path / "b.log", tmp_path / "out")
    assert_clean(everything(tmp_path / "out"))


@pytest.mark.parametrize("name", SECRETS)
def test_each_kind_is_found_and_nothing_of_it_stays(name: str) -> None:
    text = redacted(name, SECRETS[name])
    assert_clean(text)
    assert REDACTED in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eos_token", "</s>"),
        ("max_tokens", 4096),
        ("num_query_key", 3),
        ("prompt_key", "messages"),
        ("tokenizer_path", "/models/tokenizer.json"),
        ("data.train_files", "/data/train-00001-of-00032.parquet"),
        ("PWD", "/job"),
        ("use_auth", True),
        ("lr", "1e-4"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36"),
        ("PATH", "/usr/local/sbin:/usr/bin"),
        ("GIT_COMMIT", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("PYTHONPATH", "/opt/Some-Folder_With/Long2Names3And4Digits5And6More7/lib"),
        ("bench", "max_response_length=1024 actor_rollout_ref.rollout.n=5"),
        ("token_id", 3),
        ("pad_token_id", 151643),
    ],
)
def test_settings_that_are_no_secrets_stay(name: str, value: object) -> None:
    assert redacted(name, value) == value


@given(st.text(max_size=60))
def test_redaction_is_finished_after_once(text: str) -> None:
    once = redacted_text(text)
    assert redacted_text(once) == once


@given(st.sampled_from(sorted(SECRETS)), st.text("abc .,=:'\"", max_size=8))
def test_a_secret_is_found_inside_other_text(name: str, around: str) -> None:
    if is_secret_name(name):
        return  # known by its name alone
    assert_clean(redacted_text(f"{around} {SECRETS[name]} {around}"))


def test_password_of_digits_is_one() -> None:
    assert json.dumps(redacted("password", 123456)) == f'"{REDACTED}"'
