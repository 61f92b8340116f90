//! The law of the rooms: arrows point down. Every `crate::<room>` in src is held against the table of the architecture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Room and layer. Rooms of one layer do not name each other, but for those listed in `SIDEWAYS`.
const LAYERS: [(&str, u8); 33] = [
    ("error", 0),
    ("limits", 0),
    ("interrupt", 0),
    ("pool", 0),
    ("quirks", 0),
    ("wire", 1),
    ("model", 2),
    ("compat", 3),
    ("format", 3),
    ("codec", 3),
    ("framing", 3),
    ("sidecar", 3),
    ("internal_topics", 3),
    ("decode", 4),
    ("encode", 4),
    ("convert", 5),
    ("validate", 5),
    ("inspect", 6),
    ("log", 6),
    ("broker", 6),
    ("salvage", 6),
    ("rewrite", 6),
    ("columns", 6),
    ("partition", 7),
    ("report", 7),
    ("values", 7),
    ("cluster", 8),
    ("io", 8),
    ("stores", 9),
    ("tiered", 10),
    ("jvm", 11),
    ("py", 11),
    ("lib", 12),
];

/// Layer 0 is one family: limits and interrupts fail with errors.
fn may_name(from: &str, to: &str, layers: &BTreeMap<&str, u8>) -> bool {
    from == to || layers[to] < layers[from] || (layers[from] == 0 && layers[to] == 0)
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn room_of(file: &Path, root: &Path) -> String {
    let inside = file.strip_prefix(root).unwrap();
    inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

fn named_rooms(text: &str) -> Vec<String> {
    let word = |rest: &str| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1).map(word).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn arrows_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let layers: BTreeMap<_, _> = LAYERS.into_iter().collect();
    let mut seen = 0;
    for file in sources(&root) {
        let room = room_of(&file, &root);
        assert!(layers.contains_key(room.as_str()), "the room {room} is not in the table");
        for named in named_rooms(&fs::read_to_string(&file).unwrap()) {
            assert!(layers.contains_key(named.as_str()), "{}: crate::{named} is no room", file.display());
            assert!(may_name(&room, &named, &layers), "{}: {room} must not name {named}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} arrows seen");
}

/// The Python package registers the part of it that the core uses: `src/py/package.rs`.
#[test]
fn nothing_imports_a_module_of_the_python_package() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut imports = 0;
    for file in sources(&root) {
        let text: String = fs::read_to_string(&file).unwrap().split_whitespace().collect();
        for name in ["import(", "import_bound(", "from_code(", "py.run(", "get_module("] {
            for called in text.split(name).skip(1) {
                let argument = called.split(&[')', '?'][..]).next().unwrap();
                assert!(!argument.contains("logsegment"), "{}: {name}{argument})", file.display());
                imports += 1;
            }
        }
    }
    assert!(imports > 5, "only {imports} imports seen");
}

#[test]
fn nothing_of_the_proposed_format_stands_in_other_formats_codecs_or_framing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for folder in ["format/v07", "format/v0_v1", "format/v2", "codec", "framing", "sidecar", "wire"] {
        for file in sources(&root.join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!["v3", "V3", "metadata_first"].iter().any(|name| line.contains(name)), "{}: {line}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} files seen");
}

#[test]
fn unsafe_stands_only_where_a_page_says_why_it_is_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let page = fs::read_to_string(root.join("../docs/project/unsafe.md")).unwrap();
    let listed = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |").map(|(file, _)| file));
    let listed = listed.filter(|file| file.ends_with(".rs")).map(str::to_owned).collect::<BTreeSet<_>>();
    let found = sources(&root).into_iter().filter(|file| has_unsafe(&fs::read_to_string(file).unwrap()));
    let found = found.map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/")).collect::<BTreeSet<_>>();
    assert_eq!(found, listed, "files with unsafe code, and those of which docs/project/unsafe.md says why it is sound");
}

fn has_unsafe(text: &str) -> bool {
    let forms = ["unsafe {", "unsafe extern", "unsafe fn", "unsafe impl"];
    text.lines().any(|line| !line.trim_start().starts_with("//") && forms.iter().any(|form| line.contains(form)))
}
