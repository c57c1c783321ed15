import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  API,
  type Checker,
  type Project,
  SignatureKind,
  SymbolFlags,
  type Type,
  type Symbol as TypeSymbol,
} from 'typescript/unstable/sync'
import { runSync } from '../support/child.ts'

/*
 * The public types of the package: what the entry points of package.json export in the declarations that are
 * published, and every member that a host reaches from there. The spec of the comments and the API reference
 * are made of it.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))
const { exports: entryPoints } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>
}

/** Types that are made from the OpenAPI document, which has the descriptions. */
const GENERATED = /^lib\/client\/types\./

/** The declarations of the package in a folder of their own, opened by the compiler. */
export class Declarations {
  readonly #folder = mkdtempSync(join(tmpdir(), 'allot-types-'))
  readonly #api: API
  readonly #project: Project

  constructor() {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    // `npm run check` checks the types themselves.
    const options = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', this.#folder]
    runSync(process.execPath, [tsc, ...options])
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'))
    const config = join(this.#folder, 'tsconfig.json')
    const compilerOptions = { module: 'nodenext', target: 'es2023', strict: true, types: ['node'] }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: this.files }))
    this.#api = new API({ cwd: this.#folder })
    this.#project = this.#api.updateSnapshot({ openProjects: [config] }).getProject(config)!
  }

  /** Paths of the entry points in the folder. */
  get files(): string[] {
    return Object.values(entryPoints).map(({ types }) => types.replace('./dist/', './'))
  }

  get checker(): Checker {
    return this.#project.checker
  }

  /** The exports of each entry point, by the name that a host imports from. */
  entries(): [module: string, exports: Export[]][] {
    return Object.keys(entryPoints).map((name, index) => {
      const file = this.#project.program.getSourceFile(join(this.#folder, this.files[index]!))!
      const symbols = this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(file)!)
      const named = symbols.map((symbol) => ({ name: symbol.name, symbol: this.#original(symbol) }))
      return [name.replace('.', 'allot'), named]
    })
  }

  #original(symbol: TypeSymbol): TypeSymbol {
    return symbol.flags & SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol
  }

  /** Path of the file that declares the symbol; undefined when another package does. */
  fileOf({ declarations }: TypeSymbol): string | undefined {
    const paths = declarations.map(({ path }) => path.slice(this.#folder.length + 1))
    return paths.find((path, index) => this.#isOwn(declarations[index]!.path) && !GENERATED.test(path))
  }

  /** Identifies the declaration of a member, which generic types share. */
  placeOf({ declarations }: TypeSymbol): string {
    return declarations.map(({ path, index }) => `${path}:${index}`).join()
  }

  /** The members of a type that a host can use and that the package declares. */
  membersOf(type: Type): TypeSymbol[] {
    return this.checker
      .getPropertiesOfType(type)
      .filter(({ name, flags }) => !/^(?:__|#)/.test(name) && !(flags & SymbolFlags.Prototype))
      .filter((member) => this.fileOf(member) !== undefined && !this.#isProtected(member))
  }

  /** Whether a member is only for subclasses. */
  #isProtected({ valueDeclaration }: TypeSymbol): boolean {
    const [text = ''] = valueDeclaration === undefined ? [] : this.#textsOf([valueDeclaration])
    return /^(?:protected|private)\b/.test(text)
  }

  /** The declarations of a symbol on one line each, without comments. */
  textsOf({ declarations }: TypeSymbol): string[] {
    return this.#textsOf(declarations)
  }

  #textsOf(declarations: TypeSymbol['declarations']): string[] {
    return declarations.map((declaration) =>
      (declaration.resolve(this.#project)?.getText() ?? '')
        .replaceAll(/\/\*[\s\S]*?\*\//g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
  }

  /** The packages that the declarations import, each with a file that does. */
  packages(): Map<string, string> {
    const { program } = this.#project
    const own = program.getSourceFileNames().filter((name) => this.#isOwn(name))
    const imports = own.flatMap((name) => {
      const text = program.getSourceFile(name)!.text
      const specifiers = [...text.matchAll(/(?:from |import\()'((?:@[^/']+\/)?[^./'][^/']*)/g)]
      return specifiers.map(([, specifier]) => [specifier!, name.slice(this.#folder.length + 1)] as const)
    })
    return new Map(imports.filter(([specifier]) => !specifier.startsWith('node:')))
  }

  #isOwn(path: string): boolean {
    return path.startsWith(this.#folder) && !path.includes('/node_modules/')
  }

  documentationOf(symbol: TypeSymbol): string {
    return this.checker.getDocumentationCommentOfSymbol(symbol)
  }

  close(): void {
    this.#api.close()
    rmSync(this.#folder, { recursive: true })
  }
}

interface Export {
  readonly name: string
  readonly symbol: TypeSymbol
}

/** A type that a host reaches, by its declaration. */
interface NamedType {
  readonly name: string
  readonly symbol: TypeSymbol
}

/** A public name: an export, or a member of what a host reaches from one. */
export interface PublicMember {
  /** Such as `Allot.ledger`. */
  readonly name: string
  /** Path of the declarations, from the root of the package. */
  readonly file: string
  readonly symbol: TypeSymbol
}

/** Finds every public name, each declaration once. */
export class PublicMembers {
  readonly found = new Map<string, PublicMember>()
  /** Types of parameters, members and results that no entry point exports. */
  readonly unexported = new Map<string, NamedType>()
  readonly #declarations: Declarations
  readonly #visited = new Set<number>()
  /** Types to visit, exports first, so that members have the names of exported types. */
  readonly #queue: { type: Type; owner: string }[] = []

  constructor(declarations: Declarations) {
    this.#declarations = declarations
    for (const [, exports] of declarations.entries()) for (const each of exports) this.#addExport(each)
    for (const { type, owner } of this.#queue) this.#visit(type, owner)
  }

  #addExport({ name, symbol }: Export): void {
    const { checker } = this.#declarations
    this.#add(symbol, name)
    if (symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias))
      this.#enqueue(checker.getDeclaredTypeOfSymbol(symbol), name)
    // A schema with the name of its type is not exported.
    if (symbol.flags & SymbolFlags.Value && !(symbol.flags & (SymbolFlags.TypeAlias | SymbolFlags.Interface)))
      this.#enqueue(checker.getTypeOfSymbol(symbol), name)
  }

  #add(symbol: TypeSymbol, name: string): void {
    const file = this.#declarations.fileOf(symbol)
    const place = this.#declarations.placeOf(symbol)
    if (file !== undefined && !this.found.has(place)) this.found.set(place, { name, file, symbol })
  }

  #enqueue(type: Type | undefined, owner: string): void {
    if (type === undefined || this.#visited.has(type.id)) return
    this.#visited.add(type.id)
    this.#queue.push({ type, owner })
  }

  #addType(type: Type): void {
    for (const symbol of [type.getAliasSymbol(), type.getSymbol()]) {
      if (symbol === undefined || symbol.name.startsWith('__') || symbol.flags & VALUES) continue
      const place = this.#declarations.placeOf(symbol)
      if (this.#declarations.fileOf(symbol) !== undefined && !this.found.has(place))
        this.unexported.set(place, { name: symbol.name, symbol })
    }
  }

  #visit(type: Type, owner: string): void {
    this.#addType(type)
    for (const part of this.#partsOf(type)) this.#enqueue(part, owner)
    if (type.isObjectType() || type.isIntersectionType()) this.#visitMembers(type, nameOf(type) ?? owner)
  }

  /** The types that a type is composed of. */
  #partsOf(type: Type): readonly Type[] {
    const aliased = type.getAliasTypeArguments() ?? []
    if (type.isUnionType() || type.isIntersectionType()) return [...aliased, ...type.getTypes()]
    if (type.isObjectType() && type.isTypeReference())
      return [...aliased, ...this.#declarations.checker.getTypeArguments(type)]
    return aliased
  }

  #visitMembers(type: Type, owner: string): void {
    const { checker } = this.#declarations
    const symbol = type.getSymbol()
    if (symbol !== undefined && this.#declarations.fileOf(symbol) !== undefined) {
      for (const signature of checker.getSignaturesOfType(type, SignatureKind.Call)) {
        for (const parameter of signature.getParameters())
          this.#enqueue(checker.getTypeOfSymbol(parameter), `${owner}(${parameter.name})`)
        this.#enqueue(checker.getReturnTypeOfSignature(signature), `${owner}()`)
      }
      for (const { valueType } of checker.getIndexInfosOfType(type)) this.#enqueue(valueType, owner)
    }
    for (const member of this.#declarations.membersOf(type)) {
      this.#add(member, `${owner}.${member.name}`)
      this.#enqueue(checker.getTypeOfSymbol(member), `${owner}.${member.name}`)
    }
  }
}

const VALUES = SymbolFlags.Function | SymbolFlags.Method | SymbolFlags.TypeParameter | SymbolFlags.EnumMember

/** The name of a declared type; undefined for a literal one. */
export const nameOf = (type: Type): string | undefined =>
  [type.getAliasSymbol()?.name, type.getSymbol()?.name].find(
    (name) => name !== undefined && !name.startsWith('__'),
  )
