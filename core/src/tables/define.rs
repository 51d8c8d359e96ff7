//! The types that this crate makes of the tables.

/// Defines the types of choices.
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident {
            $($(#[$meta:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$meta])* $variant,)*
        }

        impl $name {
            /// All choices.
            ///
            /// ```
            #[doc = concat!("use causerie::", stringify!($name), ";")]
            #[doc = concat!("assert!(", stringify!($name), "::ALL.contains(&", stringify!($name), "::default()));")]
            /// ```
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The name in options, in snake case.
            ///
            /// ```
            #[doc = concat!("for choice in causerie::", stringify!($name), "::ALL {")]
            /// println!("{}", choice.name());
            /// }
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The choice of a name.
            ///
            /// ```
            #[doc = concat!("use causerie::", stringify!($name), ";")]
            #[doc = concat!("assert_eq!(", stringify!($name), "::named(\"colour\"), None);")]
            /// ```
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|choice| choice.name() == name)
            }
        }
    )*};
}

/// Defines the fields of options, their defaults, and the check of their limits. The arguments are the declaration of the struct, and
/// the rows of a table.
macro_rules! options {
    (
        {$(#[$meta:meta])* pub struct $options:ident}
        $($(#[doc = $doc:literal])* $(#[foreign = $foreign:literal])?
        $name:ident: $type:ty $(= $default:expr)? $(, $limits:expr)?;)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $options {
            $($(#[doc = $doc])* pub $name: $type,)*
        }

        impl Default for $options {
            fn default() -> Self {
                Self { $($name: option_default!($($default)?),)* }
            }
        }

        impl $options {
            /// Checks the limits of single options.
            #[allow(dead_code, reason = "some options have no limits")]
            fn check_limits(&self) -> $crate::error::Result<()> {
                $($($crate::options::limits::Limited::check(&self.$name, stringify!($name), $limits)?;)?)*
                Ok(())
            }
        }
    };
}

/// The default of an option: the given one, or else the type's.
macro_rules! option_default {
    () => {
        Default::default()
    };
    ($value:expr) => {
        $value
    };
}
