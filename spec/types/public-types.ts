import { execFileSync } from 'node:child_process'
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

/*
 * The public types of the package: what the entry points of package.json export in the declarations that are published, and
 * every member that a host reaches from there. The spec of the comments and the API reference are made of it.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))
const { exports: entryPoints } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>
}

/** Types that are made from the OpenAPI document, which has the descriptions. */
const GENERATED = /^lib\/client-types\./

/** The declarations of the package in a folder of their own, opened by the compiler. */
export class Declarations {
  readonly #folder = mkdtempSync(join(tmpdir(), 'allot-types-'))
  readonly #api: API
  readonly #project: Project

  constructor() {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    // What the types are checked for is the task of `npm run check`.
    const options = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', this.#folder]
    execFileSync(process.execPath, [tsc, ...options], { stdio: 'inherit' })
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

  /** What each entry point exports, by the name that a host imports from. */
  entries(): [module: string, symbols: TypeSymbol[]][] {
    return Object.keys(entryPoints).map((name, index) => {
      const file = this.#project.program.getSourceFile(join(this.#folder, this.files[index]!))!
      const symbols = this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(file)!)
      return [name.replace('.', 'allot'), symbols.map((symbol) => this.#original(symbol))]
    })
  }

  #original(symbol: TypeSymbol): TypeSymbol {
    return symbol.flags & SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol
  }

  /** Path of the file that declares the symbol; undefined when another package does. */
  fileOf({ declarations }: TypeSymbol): string | undefined {
    const paths = declarations.map(({ path }) => path.slice(this.#folder.length + 1))
    return paths.find((path, index) => this.#isPublished(path, declarations[index]!.path))
  }

  #isPublished(path: string, whole: string): boolean {
    return whole.startsWith(this.#folder) && !path.startsWith('node_modules/') && !GENERATED.test(path)
  }

  /** Identifies the declaration of a member, which generic types share. */
  placeOf({ declarations }: TypeSymbol): string {
    return declarations.map(({ path, index }) => `${path}:${index}`).join()
  }

  /** Whether a member is only for subclasses. */
  isProtected({ valueDeclaration }: TypeSymbol): boolean {
    const text = valueDeclaration?.resolve(this.#project)?.getText() ?? ''
    return /^(?:\/\*[\s\S]*?\*\/\s*)?(?:protected|private)\b/.test(text)
  }

  documentationOf(symbol: TypeSymbol): string {
    return this.checker.getDocumentationCommentOfSymbol(symbol)
  }

  close(): void {
    this.#api.close()
    rmSync(this.#folder, { recursive: true })
  }
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
  readonly #declarations: Declarations
  readonly #visited = new Set<number>()
  /** Types to visit, exports first, so that members have the names of exported types. */
  readonly #queue: { type: Type; owner: string }[] = []

  constructor(declarations: Declarations) {
    this.#declarations = declarations
    for (const [, symbols] of declarations.entries()) for (const symbol of symbols) this.#addExport(symbol)
    for (const { type, owner } of this.#queue) this.#visit(type, owner)
  }

  #addExport(symbol: TypeSymbol): void {
    const { checker } = this.#declarations
    this.#add(symbol, symbol.name)
    if (symbol.flags & (SymbolFlags.Class | SymbolFlags.Interface | SymbolFlags.TypeAlias))
      this.#enqueue(checker.getDeclaredTypeOfSymbol(symbol), symbol.name)
    // A schema with the name of its type is not exported.
    if (symbol.flags & SymbolFlags.Value && !(symbol.flags & (SymbolFlags.TypeAlias | SymbolFlags.Interface)))
      this.#enqueue(checker.getTypeOfSymbol(symbol), symbol.name)
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

  #visit(type: Type, owner: string): void {
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
    for (const member of checker.getPropertiesOfType(type)) {
      if (/^(?:__|#)/.test(member.name) || member.flags & SymbolFlags.Prototype) continue
      if (this.#declarations.fileOf(member) === undefined || this.#declarations.isProtected(member)) continue
      this.#add(member, `${owner}.${member.name}`)
      this.#enqueue(checker.getTypeOfSymbol(member), `${owner}.${member.name}`)
    }
  }
}

/** The name of a declared type; undefined for a literal one. */
const nameOf = (type: Type): string | undefined =>
  [type.getAliasSymbol()?.name, type.getSymbol()?.name].find(
    (name) => name !== undefined && !name.startsWith('__'),
  )
