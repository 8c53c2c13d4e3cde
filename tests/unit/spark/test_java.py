"""Which Java Spark gets: the machine's own where Spark can run on it, else one fetched once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tidegate.spark import java
from tidegate.spark.java import Java, NoJavaError, ensure_java, judged, tried

JAVA = """#!/bin/sh
case "$*" in *--add-modules=jdk.incubator.vector*) ;; *) exit 9 ;; esac
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""
WITHOUT_MODULE = """#!/bin/sh
echo "Error occurred during initialization of boot layer" >&2
echo "java.lang.module.FindException: Module jdk.incubator.vector not found" >&2
exit 1
"""
APT_GET = """#!/bin/sh
for last; do :; done
echo "$last" >> "{log}"
case "$*" in
    *" download "*) test ! -e "{broken}" || {{ echo "E: Failed to fetch" >&2; exit 100; }}
        touch "$last.deb" ;;
esac
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def java_in(home: Path, version: int = 17) -> Path:
    return program(home / "bin" / "java", JAVA.format(home=home, version=version))


class Machine:
    """A machine that has the programs of one folder, and a Debian package that holds a Java."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "programs"
        self.programs.mkdir()
        self.cache = root / "cache"
        self.broken = root / "broken"
        self.log = root / "asked"
        self.said: list[str] = []

    def environ(self, **more: str) -> Mapping[str, str]:
        return {"PATH": str(self.programs), "TIDEGATE_CACHE": str(self.cache)} | more

    def ensure(self, **more: str) -> Path:
        return ensure_java(self.environ(**more), self.said.append)

    def with_debian(self, known: str = "openjdk-17-jre-headless openjdk-21-jre-headless") -> None:
        """It has apt and dpkg; the package has links that are right only where root installs it."""
        home = "usr/lib/jvm/java-17-openjdk-any"
        unpack = f"""#!/bin/sh
            mkdir -p "$3/{home}/bin" "$3/{home}/lib/security" "$3/etc/java-17"
            echo settings > "$3/etc/java-17/jvm.cfg"
            ln -s /etc/java-17/jvm.cfg "$3/{home}/lib/jvm.cfg"
            ln -s /no/such/place/cacerts "$3/{home}/lib/security/cacerts"
            ln -s java-17-openjdk-any "$3/usr/lib/jvm/java-1.17"
            cat > "$3/{home}/bin/java" <<-'END'
		#!/bin/sh
		home=${{0%/bin/java}}
		test -s "$home/lib/jvm.cfg" && test -s "$home/lib/security/cacerts" || exit 7
		echo "java.home = $home"
		echo "java.specification.version = 17"
		END
            chmod 755 "$3/{home}/bin/java"
            """
        apt_get = APT_GET.format(log=self.log, broken=self.broken)
        program(self.programs / "apt-get", apt_get)
        program(self.programs / "apt-cache", f"#!/bin/sh\necho {known}\n")
        program(self.programs / "dpkg-deb", unpack)
        for name in ("mkdir", "ln", "cat", "chmod", "touch"):
            (self.programs / name).symlink_to(Path("/bin") / name)

    def asked(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.programs))
    return made


def test_the_java_that_is_named_comes_before_the_one_on_the_path(
    machine: Machine, tmp_path: Path
) -> None:
    java_in(tmp_path / "named")
    program(machine.programs / "java", JAVA.format(home=tmp_path / "other", version=21))
    assert machine.ensure() == tmp_path / "other"
    assert machine.ensure(JAVA_HOME=str(tmp_path / "named")) == tmp_path / "named"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (JAVA.format(home="/", version="11"), r"is Java 11, and Spark needs 17 or newer\."),
        (JAVA.format(home="/", version="1.8"), r"is Java 8, and Spark needs 17 or newer\."),
        (WITHOUT_MODULE, r"is a Java without the module jdk\.incubator\.vector"),
        ("#!/bin/sh\necho Unrecognized option >&2\nexit 1\n", r"it says 'Unrecognized option'"),
        ("#!/bin/sh\nexit 0\n", r"it says 'nothing'"),
        ("#!/no/such/shell\n", r"does not start: No such file or directory\."),
    ],
)
def test_a_java_that_spark_cannot_use_is_passed_over_and_the_reason_is_told(
    text: str, reason: str, machine: Machine, tmp_path: Path
) -> None:
    program(tmp_path / "named" / "bin" / "java", text)
    with pytest.raises(NoJavaError, match=reason):  # there is no other, and no apt to fetch one
        machine.ensure(JAVA_HOME=str(tmp_path / "named"))
    java_in(tmp_path / "good")
    machine.programs.joinpath("java").symlink_to(tmp_path / "good" / "bin" / "java")
    assert machine.ensure(JAVA_HOME=str(tmp_path / "named")) == tmp_path / "good"


def test_java_8_is_told_by_its_old_way_of_counting() -> None:
    said = "java.home = /j\njava.specification.version = 1.8\n"
    assert judged(Path("java"), 0, said) == "java is Java 8, and Spark needs 17 or newer."


def test_a_newer_java_is_taken_too(tmp_path: Path) -> None:
    assert tried(java_in(tmp_path, 25)) == Java(tmp_path, 25)


def test_where_there_is_no_java_and_no_apt_the_remedy_is_named(machine: Machine) -> None:
    with pytest.raises(NoJavaError) as raised:
        machine.ensure()
    assert str(raised.value) == (
        "Spark needs Java 17 or newer. There is none in JAVA_HOME or on the PATH. It can be "
        "fetched by itself only with Debian's tools, and there is no apt-get and no apt-cache and "
        "no dpkg-deb here. Install a Java 17, then put it on the PATH or name its folder with "
        "JAVA_HOME."
    )


def test_where_there_is_no_java_debians_package_is_unpacked_once(machine: Machine) -> None:
    machine.with_debian()
    home = machine.ensure()
    assert home == machine.cache / "java-17/usr/lib/jvm/java-17-openjdk-any"
    assert machine.asked() == ["update", "openjdk-17-jre-headless"]
    assert any("MB to fetch" in line for line in machine.said)
    again = machine.ensure()
    assert again.resolve() == home
    assert machine.asked() == ["update", "openjdk-17-jre-headless"]


def test_links_of_the_package_point_into_what_was_unpacked(machine: Machine) -> None:
    machine.with_debian()
    link = machine.ensure() / "lib" / "jvm.cfg"
    assert not link.readlink().is_absolute()
    assert link.resolve() == machine.cache / "java-17" / "etc" / "java-17" / "jvm.cfg"


def test_a_release_of_debian_with_newer_javas_alone_gives_the_first_of_these(
    machine: Machine,
) -> None:
    machine.with_debian(known="openjdk-25-jre-headless openjdk-21-jre-headless openjdk-21-doc")
    machine.ensure()
    assert machine.asked()[-1] == "openjdk-21-jre-headless"


def test_an_apt_that_knows_no_java_is_told_with_its_own_words(machine: Machine) -> None:
    machine.with_debian(known="openjdk-11-jre-headless")
    program(machine.programs / "apt-get", "#!/bin/sh\necho 'Err: no such host' >&2\n")
    with pytest.raises(NoJavaError, match=r"none of openjdk-17-jre-headless(.|\n)*no such host"):
        machine.ensure()


def test_a_fetch_that_failed_leaves_nothing_and_the_next_one_begins_anew(machine: Machine) -> None:
    machine.with_debian()
    machine.broken.touch()
    with pytest.raises(NoJavaError, match=r"`apt-get` ended with exit 100:\n.*Failed to fetch"):
        machine.ensure()
    assert list(machine.cache.iterdir()) == []
    machine.broken.unlink()
    machine.ensure()


def test_of_two_that_fetch_at_once_both_get_the_one_that_was_first(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.with_debian()
    first = machine.ensure()
    monkeypatch.setattr(java, "candidates", lambda environ: iter(()))  # it looked before that
    assert machine.ensure() == first
    assert [path.name for path in machine.cache.iterdir()] == ["java-17"]
