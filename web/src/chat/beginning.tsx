// A chat before its first message: which agent, and what one could say to it.
import { Icon, type IconName } from '../ui/icon'

export interface Agent { id: string; name: string; is_default: boolean; model: { provider: string } }

interface Example { icon: IconName; title: string; text: string }

const examples: Example[] = [
  { icon: 'search', title: 'See what it can do', text: 'What can you do in this workspace? Show me one thing.' },
  { icon: 'tables', title: 'Work on a file', text: 'Read the attached file, tell me what is in it, and make a table of the totals.' },
  { icon: 'environments', title: 'Write a program', text: 'Write a small script that renames photos by the day they were taken, with a test, and run the test.' },
]

// The model that needs no network does what each line of the message says.
const offlineExamples: Example[] = [
  { icon: 'environments', title: 'Run a command', text: 'think The clock of the sandbox will do.\nsay The sandbox says it is\n$ date\nsay {{last}}' },
  { icon: 'file', title: 'Make a file', text: 'say I will write a note.\nwrite notes.txt: Remember the milk.\n$ cat notes.txt\nsay It says: {{last}}' },
  { icon: 'approvals', title: 'Ask for a secret', text: 'say I need a key for that.\nneed CRM_API_KEY for api.crm.example: API key for the CRM because No credential is on file.\nsay Thank you.' },
]

export function Beginning({ agent, onExample }: { agent: Agent | null; onExample: (text: string) => void }) {
  const isOffline = agent?.model.provider === 'offline'
  return (
    <div class="beginning">
      <h1>What should {agent ? <em>{agent.name}</em> : 'it'} do?</h1>
      <p>{isOffline
        ? 'This agent speaks to the offline model, which needs no network and no key: it does what each line of the message says.'
        : 'It works in a sandbox of its own: it can run commands, write files, and asks before it does what needs your approval.'}</p>
      <ul>
        {(isOffline ? offlineExamples : examples).map((example) => (
          <li key={example.title}>
            <button type="button" onClick={() => onExample(example.text)}>
              <Icon name={example.icon} />
              <strong>{example.title}</strong>
              <span>{example.text}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
