//! Keys and region of a profile, from `~/.aws/credentials` and `~/.aws/config`.
//!
//! Source: "Configuration and credential file settings" of the AWS SDKs. `object_store` reads the environment and asks web identity,
//! container and instance roles.

use std::collections::HashMap;
use std::path::PathBuf;

use super::error::{StoreError, StoreErrorKind};

/// What a profile has.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Profile {
    /// Key id, secret key and session token.
    pub keys: Option<(String, String, Option<String>)>,
    /// The region.
    pub region: Option<String>,
}

/// Environment variables, or their replacements in a test.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The places where credentials were looked for, for an error.
pub(super) const PLACES: &str = "storage options, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials and ~/.aws/config (AWS_PROFILE), \
    web identity (AWS_WEB_IDENTITY_TOKEN_FILE), the container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI), the instance's metadata";

/// Read the profile that `AWS_PROFILE` names, or `default`.
///
/// # Errors
/// `Invalid` for a profile that is missing, or whose keys come from a program or from SSO.
pub(super) fn profile(environment: Environment<'_>, uri: &str) -> Result<Profile, StoreError> {
    let invalid = |text: String| StoreError::new(StoreErrorKind::Invalid, uri, text);
    let chosen = environment("AWS_PROFILE").filter(|name| !name.is_empty());
    let name = chosen.clone().unwrap_or_else(|| "default".to_owned());
    let credentials = section(environment, ("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &[&name]);
    let config = section(environment, ("AWS_CONFIG_FILE", "config"), &[&format!("profile {name}"), &name]);
    if chosen.is_some() && credentials.is_none() && config.is_none() {
        return Err(invalid(format!("AWS_PROFILE={name}: no such profile in ~/.aws/credentials or ~/.aws/config")));
    }
    let settings: HashMap<String, String> = config.into_iter().chain(credentials).flatten().collect();
    let setting = |name: &str| settings.get(name).filter(|value| !value.is_empty()).cloned();
    let keys = setting("aws_access_key_id").zip(setting("aws_secret_access_key"));
    if keys.is_none()
        && let Some(source) = ["credential_process", "sso_session", "sso_start_url"].into_iter().find(|name| settings.contains_key(*name))
    {
        let advice = "run `aws configure export-credentials --format env` and set what it prints";
        return Err(invalid(format!("the AWS profile {name} gets its keys by {source}, which is not supported; {advice}")));
    }
    Ok(Profile { keys: keys.map(|(id, secret)| (id, secret, setting("aws_session_token"))), region: setting("region") })
}

/// The settings of the first of these sections that a file has.
fn section(environment: Environment<'_>, (variable, file): (&str, &str), names: &[&str]) -> Option<HashMap<String, String>> {
    let path = environment(variable).map(PathBuf::from).or_else(|| {
        let home = environment("HOME").or_else(|| environment("USERPROFILE"))?;
        Some(PathBuf::from(home).join(".aws").join(file))
    })?;
    let sections = sections(&std::fs::read_to_string(path).ok()?);
    names.iter().find_map(|name| sections.get(*name).cloned())
}

/// The sections of a file. Indented lines belong to a nested setting, which none of ours is.
fn sections(text: &str) -> HashMap<String, HashMap<String, String>> {
    let mut found: HashMap<String, HashMap<String, String>> = HashMap::new();
    let mut current = String::new();
    for line in text.lines().filter(|line| !line.starts_with(['#', ';', ' ', '\t'])) {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            current = name.split_whitespace().collect::<Vec<_>>().join(" ");
            found.entry(current.clone()).or_default();
        } else if let Some((name, value)) = line.split_once('=') {
            // A comment in a line begins after a space.
            let value = value.split(" #").next().unwrap_or_default();
            found.entry(current.clone()).or_default().insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home with these two files; the variables of a test come after it.
    fn profile_of(name: &str, files: [&str; 2], profile_name: Option<&str>) -> Result<Profile, StoreError> {
        let home = std::env::temp_dir().join(format!("logsegment-aws-{name}-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".aws")).unwrap();
        std::fs::write(home.join(".aws/credentials"), files[0]).unwrap();
        std::fs::write(home.join(".aws/config"), files[1]).unwrap();
        let read = profile(
            &|variable| match variable {
                "HOME" => home.to_str().map(str::to_owned),
                "AWS_PROFILE" => profile_name.map(str::to_owned),
                _ => None,
            },
            "s3://bucket",
        );
        std::fs::remove_dir_all(&home).unwrap();
        read
    }

    const CREDENTIALS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=b/c= # mine\n\n[work]\naws_access_key_id=W\naws_secret_access_key=w\naws_session_token=t\n";
    const CONFIG: &str =
        "[default]\nregion = eu-central-1\ns3 =\n  region = nested\n[profile work]\nregion=us-west-2\n[profile sso]\nsso_session=x\n";

    #[test]
    fn keys_and_region_come_from_the_chosen_profile() {
        let default = profile_of("default", [CREDENTIALS, CONFIG], None).unwrap();
        assert!(default == Profile { keys: Some(("A".into(), "b/c=".into(), None)), region: Some("eu-central-1".into()) });
        let work = profile_of("work", [CREDENTIALS, CONFIG], Some("work")).unwrap();
        assert!(work == Profile { keys: Some(("W".into(), "w".into(), Some("t".into()))), region: Some("us-west-2".into()) });
    }

    #[test]
    fn profiles_without_keys_say_why() {
        let error = |name: &str, chosen| profile_of(name, [CREDENTIALS, CONFIG], chosen).err().unwrap().text;
        assert!(error("sso", Some("sso")).contains("sso_session"));
        assert!(error("missing", Some("missing")).contains("no such profile"));
        assert!(profile_of("empty", ["", ""], None).unwrap() == Profile::default());
    }
}
