// The rules of a policy, as a form has them and as the server has them.
import type { PolicyRule, RuleKind } from './types'

export interface Rule { effect: PolicyRule['effect']; kind: RuleKind; pattern: string; reason: string; secrets: string }

export const ruleKinds: { value: RuleKind; label: string; example: string }[] = [
  { value: 'tool', label: 'tool', example: 'bash' }, { value: 'command', label: 'command', example: 'git push *' }, { value: 'file', label: 'file', example: '/work/**' }, { value: 'host', label: 'host', example: '*.example.com' },
]

export function rulesOf(policy: PolicyRule[]): Rule[] {
  return policy.map((rule) => {
    const kind = ruleKinds.find(({ value }) => rule[value] !== undefined)?.value ?? 'tool'
    return { effect: rule.effect, kind, pattern: rule[kind] ?? '', reason: rule.reason ?? '', secrets: rule.secrets?.join(', ') ?? '' }
  })
}

export function policyOf(rules: Rule[]): PolicyRule[] {
  return rules.map(({ effect, kind, pattern, reason, secrets }) => {
    const aliases = secrets.split(',').map((alias) => alias.trim()).filter(Boolean)
    return { effect, [kind]: pattern, ...(reason ? { reason } : {}), ...(kind === 'host' && aliases.length ? { secrets: aliases } : {}) }
  })
}
