// Writes src/schema.ts from openapi/openapi.yaml: a type for each schema, and the slugs of the problems.
//
//   node scripts/generate.mjs            writes the file
//   node scripts/generate.mjs --check    says with its exit status whether the file is as it would be written
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const openapi = fileURLToPath(new URL('../../../openapi/openapi.yaml', import.meta.url))
const target = fileURLToPath(new URL('../src/schema.ts', import.meta.url))

const refPrefix = '#/components/schemas/'
const isWord = /^[A-Za-z_$][\w$]*$/
const literal = (value) => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value))

const document = parse(readFileSync(openapi, 'utf8'))
const schemas = document.components.schemas

function nameOf(ref) {
  if (!ref.startsWith(refPrefix)) throw new Error(`${ref}: only references to schemas are understood`)
  const name = ref.slice(refPrefix.length)
  if (!(name in schemas)) throw new Error(`${ref}: there is no such schema`)
  return name
}

function comment(text, indent) {
  if (!text) return ''
  const lines = text.trim().replaceAll('*/', '* /').split('\n')
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

const union = (types) => [...new Set(types)].join(' | ')
const inBrackets = (type) => (/[|&]/.test(type) ? `(${type})` : type)

// The members of an object whose schema is spread over `allOf`: what is said last counts, as in the
// events, which say more exactly what their envelope says.
function flattened(schema) {
  const properties = {}
  const required = new Set()
  const add = (part) => {
    const whole = part.$ref ? schemas[nameOf(part.$ref)] : part
    for (const inner of whole.allOf ?? []) add(inner)
    Object.assign(properties, whole.properties)
    for (const name of whole.required ?? []) required.add(name)
  }
  add(schema)
  return { properties, required }
}

function objectType(schema, indent) {
  const { properties, required } = flattened(schema)
  const names = Object.keys(properties)
  if (names.length === 0) {
    const values = schema.additionalProperties
    return `Record<string, ${values && typeof values === 'object' ? typeOf(values, indent) : 'unknown'}>`
  }
  const inner = indent + '  '
  const members = names.map((name) => {
    const member = properties[name]
    const optional = required.has(name) ? '' : '?'
    const key = isWord.test(name) ? name : literal(name)
    return `${comment(member.description, inner)}${inner}${key}${optional}: ${typeOf(member, inner)}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

function typeOf(schema, indent = '') {
  if (schema.$ref) return nameOf(schema.$ref)
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return union(schema.enum.map(literal))
  const choices = schema.oneOf ?? schema.anyOf
  if (choices) return union(choices.map((one) => typeOf(one, indent)))
  if (schema.allOf?.length === 1 && schema.allOf[0].$ref && !schema.properties) return nameOf(schema.allOf[0].$ref)
  if (schema.allOf || schema.properties) {
    const others = [schema.type ?? 'object'].flat().filter((type) => type !== 'object')
    return union([objectType(schema, indent), ...others.map((type) => typeOf({ ...schema, properties: undefined, type }, indent))])
  }
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)))
  switch (schema.type) {
    case 'string': return 'string'
    case 'integer': case 'number': return 'number'
    case 'boolean': return 'boolean'
    case 'null': return 'null'
    case 'array': return schema.items ? `${inBrackets(typeOf(schema.items, indent))}[]` : 'unknown[]'
    case 'object': return objectType(schema, indent)
    case undefined: return 'unknown'
    default: throw new Error(`the type ${schema.type} is not understood`)
  }
}

function declaration(name, schema) {
  const type = typeOf(schema)
  const head = comment(schema.description, '')
  // A whole object reads better as an interface, in error messages too.
  if (type.startsWith('{') && type.indexOf('\n}') === type.length - 2) return `${head}export interface ${name} ${type}\n`
  return `${head}export type ${name} = ${type}\n`
}

const text = [
  '// Written by scripts/generate.mjs from openapi/openapi.yaml. Do not edit: npm run generate.\n',
  `/** The last part of a problem's \`type\`. */\nexport type KnownSlug =\n${document['x-problems'].map(({ slug }) => `  | ${literal(slug)}`).join('\n')}\n`,
  `/** The events of the contract; a stream may have others, which are skipped. */\nexport const conversationEventTypes = [\n${Object.keys(schemas.ConversationEvent.discriminator.mapping).map((type) => `  ${literal(type)},\n`).join('')}] as const\n`,
  ...Object.entries(schemas).map(([name, schema]) => declaration(name, schema)),
].join('\n')

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/schema.ts is not what openapi/openapi.yaml says: npm run generate')
    process.exitCode = 1
  }
} else {
  writeFileSync(target, text)
}
