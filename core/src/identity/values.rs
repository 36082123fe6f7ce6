//! What a manifest has for a part that differs, in words: a refusal that names both sides needs no second tool (K11, R2).

use alloc::format;
use alloc::string::{String, ToString};

use super::{IdentityManifest, IdentityPart};

impl IdentityManifest {
    /// What stands in this manifest for `part`, in words; `None` where it has no such setting, module or dependency.
    ///
    /// ```
    /// # use retick_core::identity::{IdentityManifest, IdentityPart};
    /// # use retick_core::input::InputSchema;
    /// # use retick_core::tick::TickRate;
    /// # let schema = InputSchema::builder("input/v1").boolean("jump").build().unwrap();
    /// let builder = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema);
    /// let manifest = builder.setting("gas", 5).build().unwrap();
    /// assert_eq!(manifest.value_of(&IdentityPart::Setting { name: "gas".into() }).as_deref(), Some("5"));
    /// assert_eq!(manifest.value_of(&IdentityPart::Setting { name: "memory".into() }), None);
    /// ```
    #[must_use]
    pub fn value_of(&self, part: &IdentityPart) -> Option<String> {
        let parts = &self.parts;
        Some(match part {
            IdentityPart::Engine => {
                let (engine, revision) = (parts.engine.as_str(), parts.engine_revision);
                format!("{engine} revision {revision} on kernel revision {}", parts.kernel_revision)
            }
            IdentityPart::AbiVersion => parts.abi_version.to_string(),
            IdentityPart::Setting { name } => {
                parts.settings.iter().find(|setting| setting.0.as_str() == name)?.1.to_string()
            }
            IdentityPart::TickRate => parts.tick_rate.to_string(),
            IdentityPart::Capabilities => {
                format!("commands {}, projection {}", parts.takes_commands, parts.projects)
            }
            IdentityPart::InputSchema => {
                format!("{} with digest {}", self.input_schema.id(), self.input_schema.digest())
            }
            IdentityPart::StateSchema => parts.state_schema.as_str().to_string(),
            IdentityPart::ConfigSchema => {
                format!("{} with digest {}", self.config_schema.id(), self.config_schema.digest())
            }
            IdentityPart::Module { path } => {
                self.modules().iter().find(|module| module.path() == path)?.digest().to_string()
            }
            IdentityPart::Dependency { name } => {
                let mut dependencies = parts.dependencies.iter();
                dependencies.find(|dependency| dependency.0.as_str() == name)?.1.as_str().to_string()
            }
        })
    }
}
