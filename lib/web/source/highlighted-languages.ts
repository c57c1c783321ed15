/** The languages of highlighted files: those that highlight.js counts as common, and further ones. */
import hljs from 'highlight.js/lib/common'
import clojure from 'highlight.js/lib/languages/clojure'
import cmake from 'highlight.js/lib/languages/cmake'
import dart from 'highlight.js/lib/languages/dart'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import elixir from 'highlight.js/lib/languages/elixir'
import erlang from 'highlight.js/lib/languages/erlang'
import haskell from 'highlight.js/lib/languages/haskell'
import julia from 'highlight.js/lib/languages/julia'
import nix from 'highlight.js/lib/languages/nix'
import powershell from 'highlight.js/lib/languages/powershell'
import properties from 'highlight.js/lib/languages/properties'
import protobuf from 'highlight.js/lib/languages/protobuf'
import scala from 'highlight.js/lib/languages/scala'

const further = {
  ...{ clojure, cmake, dart, dockerfile, elixir, erlang, haskell, julia, nix, powershell, properties },
  ...{ protobuf, scala },
}
for (const [name, language] of Object.entries(further)) hljs.registerLanguage(name, language)
// Text in no programming language is shown without colors, in its own direction.
hljs.unregisterLanguage('plaintext')

/** Endings and whole names of files, besides the aliases that highlight.js knows. */
const FILES: Readonly<Record<string, string>> = {
  bash: '.bashrc .profile .zshrc',
  clojure: 'cljs cljc',
  cmake: 'cmakelists.txt',
  dockerfile: 'containerfile',
  go: 'go.mod',
  ini: '.editorconfig .gitconfig .gitmodules cfg cargo.lock',
  json: 'webmanifest .prettierrc',
  python: 'pyi',
  ruby: 'gemfile rakefile',
  scala: 'sbt',
  xml: 'vue',
}
const byFile = new Map(
  Object.entries(FILES).flatMap(([language, files]) => files.split(' ').map((file) => [file, language])),
)

/** @returns undefined for a file whose name tells no language that is highlighted */
const languageOf = (fileName: string): string | undefined => {
  const name = fileName.toLowerCase()
  const ending = name.slice(name.lastIndexOf('.') + 1)
  const known = byFile.get(name) ?? byFile.get(ending)
  if (known !== undefined) return known
  return hljs.getLanguage(ending) === undefined ? undefined : ending
}

/** @returns HTML in which highlight.js names the kinds of text; undefined for an unknown language */
export const highlight = (text: string, fileName: string): string | undefined => {
  const language = languageOf(fileName)
  return language && hljs.highlight(text, { language, ignoreIllegals: true }).value
}
