// swift-tools-version:6.0
import Foundation
import PackageDescription

/// The URL and checksum of a release's XCFramework. `scripts/xcframework` replaces this line in the package that it
/// creates for distribution.
let release: (url: String, checksum: String)? = nil

/// The engine: the XCFramework of a release; or, on Linux or if CAUSERIE_LIB_DIR is set, the library built by cargo; or
/// the XCFramework that `scripts/xcframework` created here.
let engine: Target
let libraries = ProcessInfo.processInfo.environment["CAUSERIE_LIB_DIR"]
#if os(Linux)
let linksBuiltLibrary = true
#else
let linksBuiltLibrary = libraries != nil
#endif
if linksBuiltLibrary {
    let folder = libraries ?? "\(Context.packageDirectory)/../target/debug"
    engine = .target(
        name: "CauserieFFI",
        // A package that is added by its URL must not set unsafe flags; there, the app's build names the folder.
        linkerSettings: [.linkedLibrary("causerie_ffi")]
            + (release == nil ? [.unsafeFlags(["-L\(folder)", "-Xlinker", "-rpath", "-Xlinker", folder])] : [])
    )
} else if let release {
    engine = .binaryTarget(name: "CauserieFFI", url: release.url, checksum: release.checksum)
} else {
    engine = .binaryTarget(name: "CauserieFFI", path: "CauserieFFI.xcframework")
}

#if os(Linux)
let privacy: (exclude: [String], resources: [Resource]) = (["PrivacyInfo.xcprivacy"], [])
#else
let privacy: (exclude: [String], resources: [Resource]) = ([], [.process("PrivacyInfo.xcprivacy")])
#endif

let package = Package(
    name: "Causerie",
    platforms: [.iOS(.v15), .macOS(.v12)],
    products: [.library(name: "Causerie", targets: ["Causerie"])],
    targets: [
        engine,
        .target(
            name: "Causerie", dependencies: ["CauserieFFI"], exclude: privacy.exclude, resources: privacy.resources,
            // A static library cannot list the frameworks that it needs.
            linkerSettings: ["CoreGraphics", "Foundation", "Metal"].map {
                .linkedFramework($0, .when(platforms: [.iOS, .macOS]))
            }),
    ],
    swiftLanguageModes: [.v6]
)
if release == nil {
    package.targets += [
        .executableTarget(name: "weather", dependencies: ["Causerie"], path: "Examples/Weather"),
        .testTarget(name: "CauserieTests", dependencies: ["Causerie"]),
        .executableTarget(name: "ending", dependencies: ["Causerie"], path: "Tests/Ending"),
    ]
}
