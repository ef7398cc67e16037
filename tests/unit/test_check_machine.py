"""Set-up on machines that lack something: installed where apt may be used, else named with the way to get it."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import check_machine
import pytest

Arrange = Callable[..., list[list[str]]]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Arrange:
    """machine(programs, root, node) -> the apt-get commands that were run."""

    def arrange(*programs: str, root: bool = False, node: str = "v22.1.0") -> list[list[str]]:
        present, ran = set(programs), list[list[str]]()

        def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
            if command[0] == "node":
                return subprocess.CompletedProcess(command, 0, node, "")
            ran.append(command)
            if command[1] == "install":
                present.update(command[5:])
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in present else None)
        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(glob, "glob", lambda _: ["lvp_icd.json"] if "mesa-vulkan-drivers" in present else [])
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
        for variable in ("EDGEINFER_CHROMIUM", "EDGEINFER_FIREFOX"):
            monkeypatch.delenv(variable, raising=False)
        return ran

    return arrange


def test_a_machine_with_everything_is_left_alone(machine: Arrange, capsys: pytest.CaptureFixture[str]) -> None:
    ran = machine("node", "npm", "chromium", "firefox-esr", "mesa-vulkan-drivers", "apt-get", root=True)
    assert check_machine.main() == 0
    assert (ran, capsys.readouterr().err) == ([], "")


def test_as_root_with_apt_the_browsers_are_installed(machine: Arrange) -> None:
    ran = machine("node", "npm", "apt-get", root=True)
    assert check_machine.main() == 0
    assert ran[0][1] == "update"
    assert {"chromium", "firefox-esr", "mesa-vulkan-drivers"} <= set(ran[1])


@pytest.mark.parametrize(("programs", "root"), [(("apt-get",), False), ((), True)])
def test_without_root_or_apt_what_is_missing_is_named_with_the_command(
    machine: Arrange, capsys: pytest.CaptureFixture[str], programs: tuple[str, ...], root: bool
) -> None:
    ran = machine("node", "npm", *programs, root=root)
    assert check_machine.main() == 1
    said = capsys.readouterr().err
    assert "sudo apt-get install chromium" in said
    assert "EDGEINFER_CHROMIUM" in said
    assert "sudo apt-get install firefox-esr" in said
    assert "sudo apt-get install libvulkan1 mesa-vulkan-drivers" in said
    assert ran == []


@pytest.mark.parametrize(
    ("programs", "node", "says"), [((), "", "npm is needed"), (("node", "npm"), "v18.2.0", "v18.2.0")]
)
def test_a_missing_or_old_node_is_named(
    machine: Arrange, capsys: pytest.CaptureFixture[str], programs: tuple[str, ...], node: str, says: str
) -> None:
    machine("chromium", "firefox-esr", *programs, node=node)
    assert check_machine.main() == 1
    assert says in capsys.readouterr().err


def test_a_browser_named_by_its_variable_will_do(machine: Arrange, monkeypatch: pytest.MonkeyPatch) -> None:
    machine("node", "npm", "google-chrome", "mesa-vulkan-drivers")
    monkeypatch.setenv("EDGEINFER_FIREFOX", "/opt/firefox/firefox")
    assert check_machine.main() == 0
