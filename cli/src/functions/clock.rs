//! The current time in cities.

use jiff::Zoned;
use jiff::tz::{TimeZone, db};

/// Cities whose time zone is named after another city.
const OTHER_CITIES: [(&str, &str); 38] = [
    ("san francisco", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("las vegas", "America/Los_Angeles"),
    ("washington", "America/New_York"),
    ("boston", "America/New_York"),
    ("miami", "America/New_York"),
    ("philadelphia", "America/New_York"),
    ("houston", "America/Chicago"),
    ("dallas", "America/Chicago"),
    ("montreal", "America/Toronto"),
    ("ottawa", "America/Toronto"),
    ("rio de janeiro", "America/Sao_Paulo"),
    ("brasilia", "America/Sao_Paulo"),
    ("munich", "Europe/Berlin"),
    ("hamburg", "Europe/Berlin"),
    ("frankfurt", "Europe/Berlin"),
    ("cologne", "Europe/Berlin"),
    ("geneva", "Europe/Zurich"),
    ("milan", "Europe/Rome"),
    ("naples", "Europe/Rome"),
    ("barcelona", "Europe/Madrid"),
    ("lyon", "Europe/Paris"),
    ("marseille", "Europe/Paris"),
    ("edinburgh", "Europe/London"),
    ("manchester", "Europe/London"),
    ("krakow", "Europe/Warsaw"),
    ("kyiv", "Europe/Kyiv"),
    ("ankara", "Europe/Istanbul"),
    ("mumbai", "Asia/Kolkata"),
    ("delhi", "Asia/Kolkata"),
    ("new delhi", "Asia/Kolkata"),
    ("bangalore", "Asia/Kolkata"),
    ("beijing", "Asia/Shanghai"),
    ("osaka", "Asia/Tokyo"),
    ("kyoto", "Asia/Tokyo"),
    ("abu dhabi", "Asia/Dubai"),
    ("canberra", "Australia/Sydney"),
    ("cape town", "Africa/Johannesburg"),
];

/// Returns the same moment in the time zone of a city.
pub(super) fn in_city(now: &Zoned, city: &str) -> Result<Zoned, String> {
    let unknown = || format!("no city named {}", city.trim());
    let zone = time_zone(&city.trim().to_lowercase()).ok_or_else(unknown)?;
    Ok(now.with_time_zone(zone))
}

/// Finds the time zone that is named after a city: `America/New_York`.
fn time_zone(city: &str) -> Option<TimeZone> {
    if let Some((_, zone)) = OTHER_CITIES.iter().find(|(other, _)| *other == city) {
        return TimeZone::get(zone).ok();
    }
    let is_city =
        |zone: &str| zone.rsplit_once('/').is_some_and(|(_, name)| name.replace('_', " ").eq_ignore_ascii_case(city));
    let zone = db().available().map(|name| name.to_string()).find(|zone| !zone.starts_with("Etc/") && is_city(zone))?;
    TimeZone::get(&zone).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(city: &str, expect: &str) {
        let now: Zoned = "2026-11-20T12:00:00[UTC]".parse().unwrap();
        let time = in_city(&now, city).map_or_else(|err| err, |there| there.strftime("%a %H:%M").to_string());
        assert_eq!(time, expect);
    }

    #[test]
    fn cities_are_found_by_their_zone_or_by_the_list() {
        check("Tokyo", "Fri 21:00");
        check("new york", "Fri 07:00");
        check("Mumbai", "Fri 17:30");
        check("Auckland", "Sat 01:00");
    }

    #[test]
    fn every_zone_in_the_list_exists() {
        for (city, zone) in OTHER_CITIES {
            assert!(TimeZone::get(zone).is_ok(), "{city}");
        }
    }

    #[test]
    fn an_unknown_city_is_reported() {
        check("Atlantis", "no city named Atlantis");
        check("GMT+5", "no city named GMT+5");
    }
}
