#!/usr/bin/env bash
# Kotlin compiles a class whose iterator() declares a checked exception by @Throws, which Java's own classes cannot. javac takes the
# clause seriously where iterator() is called by name. In a for-each loop, which calls it too, javac neither asks for a catch nor lets one be
# written: the catch is refused, as nothing in the loop is said to throw it. The exception comes all the same.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p src/main/kotlin
cat >pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>words</groupId>
  <artifactId>words</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-stdlib</artifactId><version>2.2.21</version></dependency>
  </dependencies>
  <build>
    <sourceDirectory>src/main/kotlin</sourceDirectory>
    <plugins>
      <plugin>
        <groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-maven-plugin</artifactId><version>2.2.21</version>
        <executions><execution><goals><goal>compile</goal></goals></execution></executions>
      </plugin>
    </plugins>
  </build>
</project>
XML
cat >src/main/kotlin/Words.kt <<'KOTLIN'
class Words : Iterable<String> {
    @Throws(java.io.IOException::class)
    override fun iterator(): Iterator<String> = throw java.io.IOException("no words")
}
KOTLIN
mvn --quiet --batch-mode compile
stdlib=$(find "${MAVEN_REPOSITORY:-$HOME/.m2/repository}/org/jetbrains/kotlin/kotlin-stdlib/2.2.21" -name kotlin-stdlib-2.2.21.jar)

java_class() { # name, what its main does
    echo "class $1 { public static void main(String[] given) { $2 } }" >"$1.java"
    javac -cp target/classes:"$stdlib" -d target/classes "$1.java" 2>&1 | grep --only-matching 'error: .*' || true
}
by_name=$(java_class ByName 'new Words().iterator();')
loop=$(java_class Loop 'for (String word : new Words()) System.out.println(word);')
caught=$(java_class Caught 'try { for (String word : new Words()) System.out.println(word); } catch (java.io.IOException error) {}')
run=$(java -cp target/classes:"$stdlib" Loop 2>&1 | head -1 || true)
echo "Kotlin 2.2.21, $(javac -version 2>&1), iterator() by name: ${by_name:-compiles}"
echo "for-each: ${loop:-compiles}; run: $run"
echo "for-each in a try with a catch: ${caught:-compiles}"
[[ "$by_name" == *"unreported exception"* ]]
[ -z "$loop" ]
[[ "$run" == *"java.io.IOException: no words"* ]]
[[ "$caught" == *"never thrown in body of corresponding try statement"* ]]
