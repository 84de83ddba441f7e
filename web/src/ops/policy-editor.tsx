// An agent's policy, rule by rule.
import { Button, IconButton } from '../ui/ui'
import { ruleKinds, type Rule } from './policy'
import type { RuleKind } from './types'

interface EditorProps { rules: Rule[]; onRules: (rules: Rule[]) => void; errorAt: (pointer: string) => string | undefined }

export function PolicyEditor({ rules, onRules, errorAt }: EditorProps) {
  const change = (i: number, part: Partial<Rule>) => onRules(rules.map((rule, at) => (at === i ? { ...rule, ...part } : rule)))
  return (
    <fieldset class="rules">
      <legend>Policy</legend>
      <p class="hint">The strictest rule that matches decides: deny over ask over allow. Where none matches, tools, commands and files are allowed, and hosts are denied.</p>
      {rules.map((rule, i) => {
        const error = errorAt(`/policy/${i}`)
        return (
          <div key={i} class="rule" role="group" aria-label={`Rule ${i + 1}`}>
            <select aria-label="Effect" value={rule.effect} onChange={(event) => change(i, { effect: event.currentTarget.value as Rule['effect'] })}>
              {['allow', 'ask', 'deny'].map((effect) => <option key={effect}>{effect}</option>)}
            </select>
            <select aria-label="What it is about" value={rule.kind} onChange={(event) => change(i, { kind: event.currentTarget.value as RuleKind })}>
              {ruleKinds.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
            </select>
            <input class="mono" aria-label="Pattern" aria-invalid={error ? 'true' : undefined} placeholder={ruleKinds.find(({ value }) => value === rule.kind)!.example} value={rule.pattern} onInput={(event) => change(i, { pattern: event.currentTarget.value })} />
            {rule.kind === 'host'
              ? <input class="mono" aria-label="Secrets that may be sent there" placeholder="Secrets: CRM_KEY, *" value={rule.secrets} onInput={(event) => change(i, { secrets: event.currentTarget.value })} />
              : <input aria-label="Reason, shown to the approver" placeholder="Reason" value={rule.reason} onInput={(event) => change(i, { reason: event.currentTarget.value })} />}
            <IconButton icon="trash" label={`Remove rule ${i + 1}`} onClick={() => onRules(rules.filter((_, at) => at !== i))} />
            {error && <p class="field-error" role="alert">{error}</p>}
          </div>
        )
      })}
      <div><Button small icon="plus" onClick={() => onRules([...rules, { effect: 'allow', kind: 'host', pattern: '', reason: '', secrets: '' }])}>Add a rule</Button></div>
    </fieldset>
  )
}
