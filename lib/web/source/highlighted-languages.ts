/** The languages of source files that are highlighted, by the names of files. */
import type { LanguageFn } from 'highlight.js'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import clojure from 'highlight.js/lib/languages/clojure'
import cmake from 'highlight.js/lib/languages/cmake'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import dart from 'highlight.js/lib/languages/dart'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import elixir from 'highlight.js/lib/languages/elixir'
import erlang from 'highlight.js/lib/languages/erlang'
import go from 'highlight.js/lib/languages/go'
import graphql from 'highlight.js/lib/languages/graphql'
import haskell from 'highlight.js/lib/languages/haskell'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import julia from 'highlight.js/lib/languages/julia'
import kotlin from 'highlight.js/lib/languages/kotlin'
import less from 'highlight.js/lib/languages/less'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import nix from 'highlight.js/lib/languages/nix'
import objectivec from 'highlight.js/lib/languages/objectivec'
import perl from 'highlight.js/lib/languages/perl'
import php from 'highlight.js/lib/languages/php'
import powershell from 'highlight.js/lib/languages/powershell'
import properties from 'highlight.js/lib/languages/properties'
import protobuf from 'highlight.js/lib/languages/protobuf'
import python from 'highlight.js/lib/languages/python'
import r from 'highlight.js/lib/languages/r'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import scala from 'highlight.js/lib/languages/scala'
import scss from 'highlight.js/lib/languages/scss'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

/** Each with the endings and whole names of files, besides the aliases that highlight.js knows. */
export const languages: Readonly<Record<string, readonly [language: LanguageFn, files?: string]>> = {
  bash: [bash, '.bashrc .profile .zshrc'],
  c: [c],
  clojure: [clojure, 'cljs cljc'],
  cmake: [cmake, 'cmakelists.txt'],
  cpp: [cpp],
  csharp: [csharp],
  css: [css],
  dart: [dart],
  diff: [diff],
  dockerfile: [dockerfile, 'containerfile'],
  elixir: [elixir],
  erlang: [erlang],
  go: [go, 'go.mod'],
  graphql: [graphql],
  haskell: [haskell],
  ini: [ini, '.editorconfig .gitconfig .gitmodules cfg cargo.lock'],
  java: [java],
  javascript: [javascript],
  json: [json, 'webmanifest .prettierrc'],
  julia: [julia],
  kotlin: [kotlin],
  less: [less],
  lua: [lua],
  makefile: [makefile],
  markdown: [markdown],
  nix: [nix],
  objectivec: [objectivec],
  perl: [perl],
  php: [php],
  powershell: [powershell],
  properties: [properties],
  protobuf: [protobuf],
  python: [python, 'pyi'],
  r: [r],
  ruby: [ruby, 'gemfile rakefile'],
  rust: [rust],
  scala: [scala, 'sbt'],
  scss: [scss],
  sql: [sql],
  swift: [swift],
  typescript: [typescript],
  xml: [xml, 'vue'],
  yaml: [yaml],
}
